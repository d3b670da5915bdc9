-- Append, seal or finish: KEYS meta, log [, deltas, ledger, seal, request, inbox].
-- ARGV verb, grip, start, count, frames, most bytes the log may hold, channel, serial
--      [, seal, and stop_seen with the number of inputs seen where it matters ("0", "1", "0:3") | status and retention ms
--       | reserve or empty and server, delta count, delta, ledger key, entry, …]
-- Returns {next, stop}, {'sealed', next, seal, attempt} or a refusal.
--
-- Frames, checkpoint delta and ledger entries become visible at once or not at all: finish-step in the log with the
-- checkpoint lost would be a closed step that runs again, and sends its e-mails again (C2).
local verb, grip, start, count = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local run = redis.call('HMGET', KEYS[1], 'grip', 'state', 'next', 'stop', 'bytes')
local state, following, stop, bytes = run[2], tonumber(run[3]), tonumber(run[4]), tonumber(run[5])
if not run[1] then
  return 'missing'
end
if run[1] ~= grip then
  return 'fenced' -- a zombie: somebody claimed since, or it gave up its claim itself
end

if verb == 'finish' then
  if state ~= 'sealed' and state ~= 'ended' then
    return 'unsealed' -- never in one server's life: the store went back to before the seal
  end
elseif state == 'sealed' or state == 'ended' then
  if verb == 'append' then
    return 'closed'
  end
  -- Whoever seals second takes over what the first one sealed: text A stored and text B shown must not happen (C3).
  return {'sealed', following, redis.call('GET', KEYS[5]), tonumber(redis.call('HGET', KEYS[1], 'sealed_by'))}
elseif verb == 'seal' then
  if stop == 1 and string.sub(ARGV[10], 1, 1) == '0' then
    return 'stop_first' -- a stop that was answered with "recorded" must not lose to an answer that completes right after
  end
  local seen = string.match(ARGV[10], ':(%d+)$')
  if seen and tonumber(redis.call('HGET', KEYS[1], 'inputs') or 0) > tonumber(seen) then
    return 'input_first' -- neither must what a person said while the answer was being written
  end
end

-- A repeat whose reply was lost, or a log that lost its tail: the caller learns where to go on.
if state == 'ended' or start ~= following then
  return {following, stop}
end
if count > 0 and bytes + #ARGV[5] > tonumber(ARGV[6]) then
  return 'full'
end

-- Without frames the index does not tell writes apart. A command that waited in a connection given up long ago must not set
-- a ledger entry back: only serials that grow are taken. And the last delta sent again after a lost reply is that delta.
if verb == 'append' and count == 0 then
  if tonumber(ARGV[8]) <= tonumber(redis.call('HGET', KEYS[1], 'serial')) then
    return {following, stop}
  end
  redis.call('HSET', KEYS[1], 'serial', ARGV[8])
end
local attempt = string.match(grip, '^%d+')
local delta = ARGV[11] == '1' and ARGV[12]
if delta and count == 0 then
  local newest = redis.call('HMGET', KEYS[1], 'delta_index', 'delta_attempt')
  if newest[1] == ARGV[3] and newest[2] == attempt and redis.call('LINDEX', KEYS[3], -1) == delta then
    delta = false
  end
end

following = following + count
if count > 0 then
  redis.call('XADD', KEYS[2], following .. '-' .. count, 'f', ARGV[5])
  redis.call('HSET', KEYS[1], 'next', following, 'bytes', bytes + #ARGV[5])
  redis.call('SPUBLISH', ARGV[7], following .. '-' .. count .. '-' .. attempt .. '\n' .. ARGV[5])
end
if delta then
  redis.call('RPUSH', KEYS[3], delta)
  redis.call('HSET', KEYS[1], 'delta_index', following, 'delta_attempt', attempt, 'deaths', 0)
end
for i = ARGV[11] == '1' and 13 or 12, #ARGV, 2 do
  redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1])
end
if verb == 'append' and (ARGV[9] or '') ~= '' then
  redis.call('HSET', KEYS[1], 'reserved', ARGV[9], 'server', ARGV[10])
end

if verb == 'seal' then
  redis.call('SET', KEYS[5], ARGV[9])
  redis.call('HSET', KEYS[1], 'state', 'sealed', 'sealed_by', attempt, 'deaths', 0)
  return {'sealed', following, ARGV[9], tonumber(attempt)}
end
if verb == 'finish' then
  redis.call('HSET', KEYS[1], 'state', 'ended', 'status', ARGV[9], 'lease', 0)
  for i = 1, #KEYS do
    redis.call('PEXPIRE', KEYS[i], ARGV[10]) -- only now: before its end no key of a run may expire (C7)
  end
  redis.call('SPUBLISH', ARGV[7], following .. '-0-' .. attempt .. '\n')
end
return {following, stop}
