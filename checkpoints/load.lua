-- What an executor goes on from: KEYS meta, request, deltas, ledger. ARGV grip.
-- Returns {request, index of the newest delta, deltas, ledger as a flat list} or a refusal.
--
-- One step: an executor that is being replaced must not combine its own deltas with its successor's ledger.
local run = redis.call('HMGET', KEYS[1], 'grip', 'delta_index')
if not run[1] then
  return 'missing'
end
if run[1] ~= ARGV[1] then
  return 'fenced'
end
return {redis.call('GET', KEYS[2]), tonumber(run[2] or 0), redis.call('LRANGE', KEYS[3], 0, -1), redis.call('HGETALL', KEYS[4])}
