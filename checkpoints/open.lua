-- Create a run: KEYS meta, request. ARGV request. Returns 1 where this call created it.
--
-- The only script that creates keys, so that "missing" stays missing: a late retry of anything else must not bring a run
-- back to life that was erased or has expired (C5).
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], 'state', 'open', 'grip', '', 'attempt', 0, 'deaths', 0, 'lease', 0, 'next', 0, 'bytes', 0, 'stop', 0,
  'generation', 0, 'slice', 0, 'activity', 0)
redis.call('SET', KEYS[2], ARGV[1])
return 1
