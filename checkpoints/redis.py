"""A run store in Redis or Valkey: each write is one script, each script one step for everybody.

The scripts beside this module name the interleaving each prevents. What the store itself adds: a claim is on disk before it
is used, where the server can tell; a stop is heard through the push connection. It repeats nothing: where a reply is lost it
raises StoreUnavailable, and the caller goes on from the index the log answers next.
"""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

from checkpoints.budget import MAX_INPUT_BYTES, MAX_INPUTS, MAX_LOG_BYTES, RESERVE_BYTES
from checkpoints.port import (
    Append,
    Appended,
    Claimed,
    ClaimRequest,
    Grip,
    Loaded,
    Order,
    Parking,
    Refusal,
    Refused,
    RunView,
    Sealed,
    Unread,
)
from protocol.errors import StoreUnavailable
from protocol.log import Page
from resp.client import Client
from resp.connection import Connection, Part, Reply
from resp.errors import ReplyError
from resp.keys import Keys
from resp.log import read_page
from resp.push import PushConnection
from resp.script import load_script

_HERE = Path(__file__).parent
_OPEN = load_script(_HERE / "open.lua")
_LOAD = load_script(_HERE / "load.lua")
WRITE = load_script(_HERE / "write.lua")
# A server out of memory takes no new runs and no more frames, but runs must be able to end, and to be stopped or taken over
# until they do (C13). What these write is small.
_END = load_script(_HERE / "write.lua", flags="allow-oom")
_CLAIM = load_script(_HERE / "claim.lua", flags="allow-oom")
_RENEW = load_script(_HERE / "renew.lua", flags="allow-oom")
_RELEASE = load_script(_HERE / "release.lua", flags="allow-oom")
_STOP = load_script(_HERE / "stop.lua", flags="allow-oom")
_PUT_INPUT = load_script(_HERE / "put_input.lua")
_INPUTS = load_script(_HERE / "inputs.lua")
_PARK = load_script(_HERE / "park.lua", flags="allow-oom")

_NO_LIMIT = 1 << 53  # bytes; the largest integer Lua counts exactly
_DISK_WAIT_MS = 500  # for a claim to reach the disk: less than a command may take, and well inside the lease

_VIEWED = (
    "state", "mode", "status", "attempt", "next", "stop", "claims", "generation", "slice", "activity", "lease",
    "parked", "inputs",
)  # fmt: skip


class RedisRunStore:
    """RunStore over one client and one push connection. Sizes in bytes, for each run's log."""

    def __init__(
        self,
        client: Client,
        push: PushConnection,
        *,
        keys: Keys | None = None,
        max_log_bytes: int = MAX_LOG_BYTES,
        reserve_bytes: int = RESERVE_BYTES,
    ) -> None:
        self._client = client
        # Claims wait for the disk and a connection waits with them: on the shared one every append would wait, too.
        self._claims = client.twin()
        self._claims_reach_disk = True  # until the server says that it keeps no append-only file or cannot tell
        self._push = push
        self._keys = keys or Keys()
        self._append_limit = max_log_bytes - reserve_bytes
        self._seal_limit = max_log_bytes
        self._serials = count(1)

    async def open(self, run_id: str, request: bytes) -> bool:
        keys = (self._keys.meta(run_id), self._keys.request(run_id))
        return bool(await self._client.run(_OPEN, keys, request))

    async def claim(self, run_id: str, claim: ClaimRequest) -> Claimed | Refused:
        keys = (self._keys.meta(run_id), self._keys.seal(run_id))
        limits = (claim.lease_ms, claim.max_claims)
        connection = await self._claims.connected()
        reply = await connection.run(_CLAIM, keys, claim.owner, claim.mode, *limits, *claim.order.key)
        if reply[0] != b"claimed":
            return Refused(why=Refusal(reply[0].decode()), wait_ms=reply[1], status=reply[2].decode())
        await self._reach_disk(connection)
        _, attempt, following, stop, size, seal = reply
        return Claimed(
            grip=Grip(run_id, attempt, claim.owner),
            next=following,
            stop=bool(stop),
            room=max(0, self._append_limit - size),
            sealed=seal,
        )

    async def _reach_disk(self, connection: Connection) -> None:
        # A claim lost in a power cut gives the fence back to the executor before: its appends would be taken and ours
        # refused. So it is on disk before the first use, also where the log itself may lose its last second. The server
        # waits for what came over the same connection: over a new one it would confirm what it may have lost.
        if not self._claims_reach_disk:
            return
        try:
            local, _ = await connection.send("WAITAOF", 1, 0, _DISK_WAIT_MS)
        except ReplyError:
            self._claims_reach_disk = False
            return
        if not local:
            raise StoreUnavailable("The run store's disk does not keep up.")

    async def load(self, grip: Grip) -> Loaded | Refusal:
        run_id = grip.run_id
        keys = (
            self._keys.meta(run_id),
            self._keys.request(run_id),
            self._keys.deltas(run_id),
            self._keys.ledger(run_id),
        )
        reply = await self._client.run(_LOAD, keys, _name(grip))
        if isinstance(reply, bytes):
            return Refusal(reply.decode())
        request, index, deltas, flat = reply
        ledger = {key.decode(): entry for key, entry in zip(flat[::2], flat[1::2], strict=True)}
        return Loaded(request=request, deltas=tuple(deltas), index=index, ledger=ledger)

    async def renew(self, grip: Grip, lease_ms: int) -> Appended | Refusal:
        return _appended(await self._client.run(_RENEW, (self._keys.meta(grip.run_id),), _name(grip), lease_ms))

    async def append(self, grip: Grip, append: Append) -> Appended | Refusal:
        extra = () if append.delta is None and not append.ledger else ("", "", *_boundary(append))
        return _appended(await self._write("append", grip, append, self._append_limit, extra))

    async def seal(
        self, grip: Grip, append: Append, seal: bytes, *, stop_seen: bool, inputs_seen: int | None = None
    ) -> Sealed | Appended | Refusal:
        seen = f"{int(stop_seen)}" if inputs_seen is None else f"{int(stop_seen)}:{inputs_seen}"
        extra = (seal, seen, *_boundary(append))
        reply = await self._write("seal", grip, append, self._seal_limit, extra)
        if isinstance(reply, bytes) or reply[0] != b"sealed":
            return _appended(reply)
        _, following, standing, attempt = reply
        return Sealed(next=following, seal=standing, ours=attempt == grip.attempt)

    async def finish(self, grip: Grip, append: Append, status: str, retention_ms: int) -> Appended | Refusal:
        # Whatever its size: a run that cannot end is worse than a log that is too long.
        extra = (status, retention_ms, *_boundary(append))
        return _appended(await self._write("finish", grip, append, _NO_LIMIT, extra))

    async def _write(self, verb: str, grip: Grip, append: Append, limit: int, extra: tuple[Part, ...]) -> Reply:
        names, run_id = self._keys, grip.run_id
        keys = [names.meta(run_id), names.log(run_id)]
        if extra:
            keys += [names.deltas(run_id), names.ledger(run_id), names.seal(run_id), names.request(run_id)]
            keys.append(names.inbox(run_id))
        frames = (append.start, append.count, append.payload)
        settings = (limit, names.live(run_id), next(self._serials))
        script = WRITE if verb == "append" else _END
        return await self._client.run(script, keys, verb, _name(grip), *frames, *settings, *extra)

    async def release(self, grip: Grip, committed: bytes | None, order: Order) -> bool:
        result = () if committed is None else (self._keys.result(order.generation, order.slice), committed)
        return bool(await self._client.run(_RELEASE, (self._keys.meta(grip.run_id),), _name(grip), *result))

    async def committed(self, run_id: str, generation: int, slice_number: int) -> bytes | None:
        field = self._keys.result(generation, slice_number)
        reply: bytes | None = await self._client.execute("HGET", self._keys.meta(run_id), field)
        return reply

    async def stop(self, run_id: str) -> RunView | None:
        known = await self._client.run(_STOP, (self._keys.meta(run_id),), self._keys.stopped(run_id))
        return await self.view(run_id) if known else None

    async def put_input(self, run_id: str, item_id: str, item: bytes) -> RunView | Refusal:
        keys = (self._keys.meta(run_id), self._keys.inbox(run_id))
        limits = (MAX_INPUTS, MAX_INPUT_BYTES)
        reply = await self._client.run(_PUT_INPUT, keys, item_id, item, *limits, self._keys.stopped(run_id))
        if reply not in (b"put", b"known"):
            return Refusal(reply.decode())
        return await self.view(run_id) or Refusal.MISSING

    async def inputs(self, grip: Grip, taken: int) -> tuple[bytes, ...] | Refusal:
        keys = (self._keys.meta(grip.run_id), self._keys.inbox(grip.run_id))
        reply = await self._client.run(_INPUTS, keys, _name(grip), taken)
        return Refusal(reply.decode()) if isinstance(reply, bytes) else tuple(reply)

    async def park(self, grip: Grip, parking: Parking, result: bytes, order: Order) -> Unread | Refusal | None:
        keys = (self._keys.meta(grip.run_id), self._keys.inbox(grip.run_id))
        field = self._keys.result(order.generation, order.slice)
        note = _note(grip, parking)
        reply = await self._client.run(_PARK, keys, _name(grip), parking.taken, note, field, result)
        if isinstance(reply, list):
            return Unread(tuple(reply))
        return None if reply == b"parked" else Refusal(reply.decode())

    async def watch_stop(
        self, run_id: str, callback: Callable[[], None], on_input: Callable[[], None] | None = None
    ) -> None:
        def heard(message: bytes) -> None:
            if not message:
                callback()
            elif on_input is not None:
                on_input()

        await self._push.subscribe(self._keys.stopped(run_id), heard)

    async def unwatch_stop(self, run_id: str) -> None:
        await self._push.unsubscribe(self._keys.stopped(run_id))

    async def view(self, run_id: str) -> RunView | None:
        commands = (("HMGET", self._keys.meta(run_id), *_VIEWED), ("TIME",))
        fields, (seconds, micros) = await self._client.execute_all(*commands)
        if fields[0] is None:
            return None
        state, mode, status = ((text or b"").decode() for text in fields[:3])
        attempt, following, stop, claims, generation, slice_number, activity, lease = map(int, fields[3:11])
        parking = _parking(fields[11], attempt) if state == "running" else None
        return RunView(
            state="parked" if parking else state,
            mode=mode,
            status=status,
            attempt=attempt,
            next=following,
            stop=bool(stop),
            lease_ms=max(0, lease - (int(seconds) * 1000 + int(micros) // 1000)),
            claims=claims,
            order=Order(generation, slice_number, activity),
            until_ms=parking.until_ms if parking else 0,
            waiting=parking.waiting if parking else (),
            unread=int(fields[12] or 0) - parking.taken if parking else 0,
        )

    async def read(self, run_id: str, start: int, max_bytes: int) -> Page | None:
        return await read_page(self._client, self._keys, run_id, start, max_bytes=max_bytes)


def _name(grip: Grip) -> str:
    return f"{grip.attempt}:{grip.owner}"


def _note(grip: Grip, parking: Parking) -> str:
    return json.dumps([grip.attempt, parking.taken, parking.until_ms, *parking.waiting])


def _parking(note: bytes | None, attempt: int) -> Parking | None:
    """How the run is parked; a note of an earlier attempt is of a wait that is over."""
    by, taken, until_ms, *waiting = json.loads(note) if note else (0, 0, 0)
    return Parking(taken=taken, until_ms=until_ms, waiting=tuple(waiting)) if by == attempt else None


def _boundary(append: Append) -> tuple[Part, ...]:
    delta: tuple[Part, ...] = (0,) if append.delta is None else (1, append.delta)
    return (*delta, *(part for item in append.ledger.items() for part in item))


def _appended(reply: Reply) -> Appended | Refusal:
    if isinstance(reply, bytes):
        return Refusal(reply.decode())
    return Appended(reply[0], bool(reply[1]))
