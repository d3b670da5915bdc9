-- Record a stop: KEYS meta. ARGV channel. Returns 0 where the run is missing.
--
-- After the seal it changes nothing: how the run ends is decided, and a flag set now would make the record contradict it
-- (C3). The message only saves time; the flag is in every later reply to the executor.
local run = redis.call('HMGET', KEYS[1], 'state', 'stop')
if not run[1] then
  return 0
end
if run[2] == '0' and (run[1] == 'open' or run[1] == 'running') then
  redis.call('HSET', KEYS[1], 'stop', 1)
  redis.call('SPUBLISH', ARGV[1], '')
end
return 1
