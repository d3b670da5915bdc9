-- What lies in a run's inbox from a position on: KEYS meta, inbox. ARGV grip, position. Returns the inputs or a refusal.
local run = redis.call('HMGET', KEYS[1], 'grip', 'inputs')
if not run[1] then
  return 'missing'
end
if run[1] ~= ARGV[1] then
  return 'fenced'
end
local found = {}
for i = tonumber(ARGV[2]), tonumber(run[2] or 0) - 1 do
  found[#found + 1] = redis.call('HGET', KEYS[2], i)
end
return found
