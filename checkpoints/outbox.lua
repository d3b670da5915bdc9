-- One command on one key: KEYS key. ARGV command, arguments.
--
-- A script only for its flags: by itself a server out of memory refuses SET, and the answer of a run that must end would be
-- lost with it (C13).
return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
