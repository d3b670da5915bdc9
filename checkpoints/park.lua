-- Give up the lease until somebody answers: KEYS meta, inbox. ARGV grip, inputs taken in, note, field and content of the
-- slice's result. Returns 'parked', {inputs not taken in yet}, {} where a stop comes first, or a refusal.
--
-- Look and leave in one step: an answer that arrives in between would lie there for days, with nobody to read it (C12).
local run = redis.call('HMGET', KEYS[1], 'grip', 'state', 'stop', 'inputs', 'released', 'parked')
if not run[2] then
  return 'missing'
end
if run[1] ~= ARGV[1] then
  return run[5] == ARGV[1] and run[6] == ARGV[3] and 'parked' or 'fenced' -- a repeat, or somebody claimed since
end
if run[2] ~= 'running' then
  return 'closed'
end
local unread = {}
if run[3] == '1' then
  return unread
end
for i = tonumber(ARGV[2]), tonumber(run[4] or 0) - 1 do
  unread[#unread + 1] = redis.call('HGET', KEYS[2], i)
end
if #unread > 0 then
  return unread
end
-- Whoever parked got on as far as it could: what died before is no sign of a turn that kills its executors.
redis.call('HSET', KEYS[1], 'grip', '', 'released', ARGV[1], 'lease', 0, 'deaths', 0, 'parked', ARGV[3], ARGV[4], ARGV[5])
return 'parked'
