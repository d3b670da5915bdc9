-- Take away everything of a run: KEYS all of them. Returns how many there were.
--
-- Its conversation was deleted. Whoever executes the run finds it missing with his next write, asks the records, and stops
-- (C5). On disk before it is answered: a server that went back to before it would hold the text for ever, for the keys of a
-- run that has not ended do not expire (C7).
return redis.call('UNLINK', unpack(KEYS))
