-- Put an input into a run's inbox: KEYS meta, inbox. ARGV id, input, most inputs, most bytes, channel.
-- Returns 'put', 'known' where the id lies there already, or a refusal.
--
-- The inbox keeps what it was given: how many inputs an executor has taken in is part of its checkpoint, so whoever goes on
-- from an earlier one finds them again (C12).
local run = redis.call('HMGET', KEYS[1], 'state', 'inputs', 'input_bytes')
local count, bytes = tonumber(run[2] or 0), tonumber(run[3] or 0)
if not run[1] then
  return 'missing'
end
if redis.call('HEXISTS', KEYS[2], 'id:' .. ARGV[1]) == 1 then
  return 'known' -- also after the seal: it was taken, and whoever repeats it has only lost the answer
end
if run[1] == 'sealed' or run[1] == 'ended' then
  return 'closed'
end
if count >= tonumber(ARGV[3]) or bytes + #ARGV[2] > tonumber(ARGV[4]) then
  return 'full'
end
redis.call('HSET', KEYS[2], 'id:' .. ARGV[1], count, count, ARGV[2])
redis.call('HSET', KEYS[1], 'inputs', count + 1, 'input_bytes', bytes + #ARGV[2])
redis.call('SPUBLISH', ARGV[5], 'input')
return 'put'
