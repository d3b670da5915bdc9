-- Take a run over: KEYS meta, seal. ARGV owner, mode, lease ms, max deaths, generation, slice, activity attempt, server, ahead.
-- Returns {'claimed', attempt, next, stop, bytes in the log, seal or false, reserved, 1 where the server is another one}
-- or {refusal, remaining lease, final status}.
--
-- Check and take-over in one step: of two executors that see the same lapsed lease only one may win. Time is the
-- server's, the only clock that all executors share.
local run = redis.call('HMGET', KEYS[1], 'state', 'owner', 'lease', 'deaths', 'generation', 'slice', 'activity', 'status',
  'reserved', 'server', 'parked', 'attempt', 'released')
local state, owner, lease, deaths = run[1], run[2], tonumber(run[3]), tonumber(run[4])
if not state then
  return {'missing', 0, ''}
end
if state == 'ended' then
  return {'ended', 0, run[8]}
end

-- Temporal counts attempts from 1 in every slice: a stalled attempt of an earlier slice that wakes up must lose to what
-- came after it, even where nobody holds a lease at the moment (C4).
for i = 1, 3 do
  local asked, highest = tonumber(ARGV[4 + i]), tonumber(run[4 + i])
  if asked < highest then
    return {'stale', 0, ''}
  elseif asked > highest then
    break
  end
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if owner ~= ARGV[1] then -- else the same executor again, whose reply was lost
  if lease > now then
    return {'busy', lease - now, ''}
  end
  -- A turn that kills whoever executes it must not do so for ever (C16). Whoever let go is alive: ten deploys within one
  -- long step are not ten deaths.
  if owner and run[13] == '' then
    deaths = deaths + 1
  end
  if deaths >= tonumber(ARGV[4]) then
    return {'exhausted', 0, ''}
  end
end

if state == 'open' then
  state = 'running'
end
local attempt = redis.call('HINCRBY', KEYS[1], 'attempt', 1)
redis.call('HSET', KEYS[1], 'state', state, 'grip', attempt .. ':' .. ARGV[1], 'owner', ARGV[1], 'mode', ARGV[2],
  'released', '', 'lease', now + ARGV[3], 'deaths', deaths, 'generation', ARGV[5], 'slice', ARGV[6], 'activity', ARGV[7], 'serial', 0)
local counters = redis.call('HMGET', KEYS[1], 'next', 'stop', 'bytes')
local following, reserved, another = tonumber(counters[1]), tonumber(run[9]) or 0, run[10] and run[10] ~= ARGV[8]

-- A server that is not the one of the reservation may lack what readers saw up to there (C9). The old reservation stands
-- until the log has passed it: were it renewed here, a claimant that dies before that would hide the loss from the next.
-- A note that the run is parked says that nothing is lost: it was written last, and whoever claims voids it durably.
if state == 'running' and run[11] and string.match(run[11], '^%[(%d+)') == run[12] then
  another = false
end
if not another then
  reserved = math.max(reserved, following + ARGV[9])
  redis.call('HSET', KEYS[1], 'reserved', reserved, 'server', ARGV[8])
end
return {'claimed', attempt, following, tonumber(counters[2]), tonumber(counters[3]), redis.call('GET', KEYS[2]), reserved,
  another and 1 or 0}
