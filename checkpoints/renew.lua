-- Extend the lease: KEYS meta. ARGV grip, lease ms. Returns {next, stop} or a refusal.
--
-- Succeeds after the lease lapsed, too, as long as nobody claimed: a pause of the executor or of the server is no reason
-- to give up a turn that nobody else has taken (C11).
local run = redis.call('HMGET', KEYS[1], 'grip', 'state', 'next', 'stop')
if not run[1] then
  return 'missing'
end
if run[1] ~= ARGV[1] then
  return 'fenced'
end
if run[2] == 'ended' then
  return 'closed'
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'lease', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2])
return {tonumber(run[3]), tonumber(run[4])}
