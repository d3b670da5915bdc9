"""A run store in Redis or Valkey: each write is one script, each script one step for everybody.

The scripts beside this module name the interleaving each prevents. What the store itself adds: claims, boundaries and seals
are on disk before they are answered, where the server can tell; a stop is heard through the push connection. It repeats nothing: where a reply is lost it
raises StoreUnavailable, and the caller goes on from the index the log answers next.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

from checkpoints.budget import MAX_INPUT_BYTES, MAX_INPUTS, RESERVE_AHEAD, Budget
from checkpoints.disk import Disk
from checkpoints.port import (
    Append,
    Appended,
    Claimed,
    ClaimRequest,
    Grip,
    Loaded,
    Order,
    Refusal,
    Refused,
    Remains,
    RunView,
    Sealed,
)
from checkpoints.redis_view import VIEWED, note_of, view_of
from checkpoints.waiting import Parking, Unread
from protocol.errors import StoreUnavailable
from protocol.log import Page
from resp.client import Client
from resp.connection import Part, Reply
from resp.keys import Keys
from resp.log import read_page
from resp.push import PushConnection
from resp.script import load_script

_HERE = Path(__file__).parent
_OPEN = load_script(_HERE / "open.lua")
_LOAD = load_script(_HERE / "load.lua")
_RESTORE = load_script(_HERE / "restore.lua")
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
_ERASE = load_script(_HERE / "erase.lua", flags="allow-oom")

_NO_LIMIT = 1 << 53  # bytes; the largest integer Lua counts exactly


class _Call(NamedTuple):
    keys: list[str]
    arguments: tuple[Part, ...]


class RedisRunStore:
    """RunStore over one client and one push connection.

    `replicas` is how many replicas must have received a durable write: a failover then loses none. 0 trusts one server's disk.
    """

    def __init__(
        self,
        client: Client,
        push: PushConnection,
        *,
        keys: Keys | None = None,
        budget: Budget | None = None,
        replicas: int = 0,
    ) -> None:
        self._client = client
        self._disk = Disk(client, replicas=replicas)
        self._push = push
        self._keys = keys or Keys()
        self._budget = budget or Budget()
        self._append_limit = self._budget.room(0)
        self._serials = count(1)

    async def open(self, run_id: str, request: bytes) -> bool:
        keys = (self._keys.meta(run_id), self._keys.request(run_id))
        return bool(await self._client.prompt(_OPEN, keys, request))

    async def claim(self, run_id: str, claim: ClaimRequest) -> Claimed | Refused:
        keys = (self._keys.meta(run_id), self._keys.seal(run_id))
        asked = (claim.owner, claim.mode, claim.lease_ms, claim.max_deaths, *claim.order.key)
        # A claim lost in a power cut gives the fence back to the executor before: its appends would be taken and ours
        # refused. So it is on disk before the first use, also where the log itself may lose its last second.
        reply, confirmed = await self._disk.write(_CLAIM, keys, lambda server: (*asked, server, RESERVE_AHEAD))
        if reply[0] != b"claimed":
            return Refused(why=Refusal(reply[0].decode()), wait_ms=reply[1], status=reply[2].decode())
        if not confirmed:
            raise StoreUnavailable("The run store's disk does not keep up.")
        _, attempt, following, stop, size, seal, reserved, another = reply
        return Claimed(
            grip=Grip(run_id, attempt, claim.owner),
            next=following,
            stop=bool(stop),
            room=self._budget.room(size),
            sealed=seal,
            reserved=reserved,
            went_back=bool(another),
        )

    async def restore(self, grip: Grip, claim: ClaimRequest, remains: Remains) -> Claimed | Refusal:
        names, run_id = self._keys, grip.run_id
        wanted = (names.meta, names.log, names.request, names.deltas, names.ledger, names.seal, names.inbox)
        keys = tuple(name(run_id) for name in wanted)
        executor = (grip.owner, grip.attempt, claim.mode, claim.lease_ms, *claim.order.key)
        reserved = remains.next + RESERVE_AHEAD
        place = (reserved, int(remains.stop), remains.next, remains.request, remains.index, remains.base or "")
        log = [part for entry in remains.entries for part in (f"{entry.end}-{entry.count}", entry.payload)]
        ledger = [part for item in remains.ledger.items() for part in item]
        inputs = [part for item in remains.inputs.items() for part in item]
        counts = (len(remains.entries), remains.taken, len(remains.inputs))
        rest = (*place, *counts, *log, *inputs, *ledger)
        reply, confirmed = await self._disk.write(_RESTORE, keys, lambda server: (*executor, server, *rest))
        if isinstance(reply, bytes):
            return Refusal(reply.decode())
        if not confirmed:
            raise StoreUnavailable("The run store's disk does not keep up.")
        attempt, size, stop = reply
        return Claimed(
            grip=Grip(run_id, attempt, grip.owner),
            next=remains.next,
            stop=bool(stop),
            room=self._budget.room(size),
            reserved=reserved,
        )

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
        if append.reserve:
            return await self._append_durably(grip, append)
        extra = () if append.delta is None and not append.ledger else ("", "", *_boundary(append))
        call = self._write("append", grip, append, self._append_limit, extra)
        return _appended(await self._client.run(WRITE, call.keys, *call.arguments))

    async def _append_durably(self, grip: Grip, append: Append) -> Appended | Refusal:
        def with_server(server: bytes) -> tuple[Part, ...]:
            return (*call.arguments, server, *_boundary(append))

        call = self._write("append", grip, append, self._append_limit, (append.reserve,))
        reply, confirmed = await self._disk.write(WRITE, call.keys, with_server)
        return _appended(reply, durable=confirmed)

    async def seal(
        self, grip: Grip, append: Append, seal: bytes, *, stop_seen: bool, inputs_seen: int | None = None
    ) -> Sealed | Appended | Refusal:
        seen = f"{int(stop_seen)}" if inputs_seen is None else f"{int(stop_seen)}:{inputs_seen}"
        extra = (seal, seen, *_boundary(append))
        call = self._write("seal", grip, append, self._budget.log_bytes, extra)
        reply, confirmed = await self._disk.write(_END, call.keys, lambda _: call.arguments)
        if isinstance(reply, bytes) or reply[0] != b"sealed":
            return _appended(reply)
        _, following, standing, attempt = reply
        return Sealed(next=following, seal=standing, ours=attempt == grip.attempt, durable=confirmed)

    async def finish(self, grip: Grip, append: Append, status: str, retention_ms: int) -> Appended | Refusal:
        # Whatever its size: a run that cannot end is worse than a log that is too long.
        extra = (status, retention_ms, *_boundary(append))
        call = self._write("finish", grip, append, _NO_LIMIT, extra)
        return _appended(await self._client.run(_END, call.keys, *call.arguments))

    def _write(self, verb: str, grip: Grip, append: Append, limit: int, extra: tuple[Part, ...]) -> _Call:
        """Keys and arguments of `write.lua`."""
        names, run_id = self._keys, grip.run_id
        keys = [names.meta(run_id), names.log(run_id)]
        if extra:
            keys += [names.deltas(run_id), names.ledger(run_id), names.seal(run_id), names.request(run_id)]
            keys.append(names.inbox(run_id))
        frames = (append.start, append.count, append.payload)
        settings = (limit, names.live(run_id), next(self._serials))
        return _Call(keys, (verb, _name(grip), *frames, *settings, *extra))

    async def release(self, grip: Grip, committed: bytes | None, order: Order) -> bool:
        result = () if committed is None else (self._keys.result(order.generation, order.slice), committed)
        return bool(await self._client.run(_RELEASE, (self._keys.meta(grip.run_id),), _name(grip), *result))

    async def committed(self, run_id: str, generation: int, slice_number: int) -> bytes | None:
        field = self._keys.result(generation, slice_number)
        reply: bytes | None = await self._client.execute("HGET", self._keys.meta(run_id), field)
        return reply

    async def stop(self, run_id: str) -> RunView | None:
        channel = self._keys.stopped(run_id)
        # Its executor hears of it at once; whoever asked for it is answered when no crash can take it back.
        known, confirmed = await self._disk.write(_STOP, (self._keys.meta(run_id),), lambda _: (channel,))
        if known and not confirmed:
            raise StoreUnavailable("The run store's disk does not keep up.")
        return await self.view(run_id) if known else None

    async def put_input(self, run_id: str, item_id: str, item: bytes) -> RunView | Refusal:
        keys = (self._keys.meta(run_id), self._keys.inbox(run_id))
        asked = (item_id, item, MAX_INPUTS, MAX_INPUT_BYTES, self._keys.stopped(run_id))
        # On disk before anybody is told that it was taken: a decision must not be asked for again, nor another one fall in
        # the place of one that the executor counts already.
        reply, confirmed = await self._disk.write(_PUT_INPUT, keys, lambda _: asked)
        if reply not in (b"put", b"known"):
            return Refusal(reply.decode())
        if not confirmed:
            raise StoreUnavailable("The run store's disk does not keep up.")
        return await self.view(run_id) or Refusal.MISSING

    async def inputs(self, grip: Grip, taken: int) -> tuple[bytes, ...] | Refusal:
        keys = (self._keys.meta(grip.run_id), self._keys.inbox(grip.run_id))
        reply = await self._client.run(_INPUTS, keys, _name(grip), taken)
        return Refusal(reply.decode()) if isinstance(reply, bytes) else tuple(reply)

    async def park(self, grip: Grip, parking: Parking, result: bytes, order: Order) -> Unread | Refusal | None:
        keys = (self._keys.meta(grip.run_id), self._keys.inbox(grip.run_id))
        field = self._keys.result(order.generation, order.slice)
        note = note_of(grip, parking)
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

    async def erase(self, run_id: str) -> None:
        _, confirmed = await self._disk.write(_ERASE, self._keys.of_run(run_id), lambda _: ())
        if not confirmed:
            raise StoreUnavailable("The run store's disk does not keep up.")

    async def view(self, run_id: str) -> RunView | None:
        commands = (("HMGET", self._keys.meta(run_id), *VIEWED), ("TIME",))
        fields, (seconds, micros) = await self._client.execute_all(*commands)
        return view_of(fields, int(seconds) * 1000 + int(micros) // 1000)

    async def read(self, run_id: str, start: int, max_bytes: int) -> Page | None:
        return await read_page(self._client, self._keys, run_id, start, max_bytes=max_bytes)

    async def ledger(self, run_id: str) -> dict[str, bytes]:
        entries = await self._client.execute("HGETALL", self._keys.ledger(run_id))
        return {key.decode(): entry for key, entry in entries.items()}

    async def sealed(self, run_id: str) -> bytes | None:
        seal: bytes | None = await self._client.execute("GET", self._keys.seal(run_id))
        return seal


def _name(grip: Grip) -> str:
    return f"{grip.attempt}:{grip.owner}"


def _boundary(append: Append) -> tuple[Part, ...]:
    delta: tuple[Part, ...] = (0,) if append.delta is None else (1, append.delta)
    return (*delta, *(part for item in append.ledger.items() for part in item))


def _appended(reply: Reply, *, durable: bool = True) -> Appended | Refusal:
    if isinstance(reply, bytes):
        return Refusal(reply.decode())
    return Appended(reply[0], bool(reply[1]), durable)
