-- Give up the lease: KEYS meta. ARGV grip, and field and content of the slice's result where there is one. Returns 1, or 0
-- where the grip is not the newest.
--
-- The slice's result goes in with the release: were they two writes, a worker killed in between would leave a slice that is
-- free but not finished, and its next attempt would run what is done already (C17).
local run = redis.call('HMGET', KEYS[1], 'grip', 'released')
if run[1] ~= ARGV[1] and run[2] ~= ARGV[1] then
  return 0
end
-- The grip goes, too: a renewal that was under way must not bring the lease back and make the next slice wait for nobody.
-- What is noted as released tells the next claim that nobody died (C16).
redis.call('HSET', KEYS[1], 'grip', '', 'released', ARGV[1], 'lease', 0)
if ARGV[2] then
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
end
return 1
