-- Put a run back as its executor knows it: KEYS meta, log, request, deltas, ledger, seal, inbox.
-- ARGV owner, attempt, mode, lease ms, generation, slice, activity attempt, server, reserved, stop, next, request, index, base
--      or empty, entries, inputs taken in before, inputs read since, then of each entry id and frames, then of each of these
--      inputs id and content, then ledger key, ledger entry, …
-- Returns {attempt, bytes in the log, stop} or a refusal.
--
-- The one script beside `open` that creates keys (C5): its caller has asked the records first. A run that is there is put back
-- over only by its own executor, whose log went back further than it can append again: what somebody else restored or claimed
-- meanwhile is his.
local run = redis.call('HMGET', KEYS[1], 'owner', 'state', 'attempt', 'stop', 'grip', 'inputs', 'input_bytes')
if run[1] and (run[1] ~= ARGV[1] or run[5] == '') then
  return 'fenced'
end
if run[2] == 'sealed' or run[2] == 'ended' then
  return 'closed'
end

local attempt = math.max(tonumber(run[3]) or 0, tonumber(ARGV[2])) + 1
local stop = (run[4] == '1' or ARGV[10] == '1') and 1 or 0
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('DEL', KEYS[2], KEYS[4], KEYS[5])
redis.call('SET', KEYS[3], ARGV[12])
if ARGV[14] ~= '' then
  redis.call('RPUSH', KEYS[4], ARGV[14])
end
local at, bytes = 18, 0
for _ = 1, tonumber(ARGV[15]) do
  redis.call('XADD', KEYS[2], ARGV[at], 'f', ARGV[at + 1])
  bytes = bytes + #ARGV[at + 1]
  at = at + 2
end

-- An executor that counts inputs which the inbox lacks would never look where the next one falls (C12).
local known, input_bytes = tonumber(run[6] or 0), tonumber(run[7] or 0)
local inputs = math.max(known, tonumber(ARGV[16]))
for position = tonumber(ARGV[16]), ARGV[16] + ARGV[17] - 1 do
  if position >= known then
    redis.call('HSET', KEYS[7], 'id:' .. ARGV[at], position, position, ARGV[at + 1])
    inputs, input_bytes = position + 1, input_bytes + #ARGV[at + 1]
  end
  at = at + 2
end
for i = at, #ARGV, 2 do
  redis.call('HSET', KEYS[5], ARGV[i], ARGV[i + 1])
end
redis.call('HSET', KEYS[1], 'state', 'running', 'grip', attempt .. ':' .. ARGV[1], 'owner', ARGV[1], 'mode', ARGV[3], 'released', '',
  'attempt', attempt, 'deaths', 0, 'lease', now + ARGV[4], 'generation', ARGV[5], 'slice', ARGV[6], 'activity', ARGV[7],
  'server', ARGV[8], 'reserved', ARGV[9], 'stop', stop, 'next', ARGV[11], 'bytes', bytes, 'serial', 0,
  'delta_index', ARGV[13], 'delta_attempt', attempt, 'inputs', inputs, 'input_bytes', input_bytes)
return {attempt, bytes, stop}
