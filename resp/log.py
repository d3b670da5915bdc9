r"""How a run's log lies in Redis, for the store that writes it and the readers of it.

One stream entry holds `count` finished frames under the id `<end>-<count>`, `end` being the index after the last of them.
So `XRANGE start+1 +` begins with the entry that contains frame `start`, however frames were packed, and the server itself
refuses an index that was taken. A published message is `<end>-<count>-<attempt>\n<frames>`; count 0 says that `end` is final.
"""

from protocol.log import Entry, Page, Pushed
from resp.client import Client
from resp.connection import Reply
from resp.keys import Keys

_FIRST_COUNT = 8  # entries: a gap of a live reader is one or two
_GROWTH = 8  # times more in each further request, at most: entries may be much fatter than those seen so far


def pushed_from(run_id: str, message: bytes) -> Pushed:
    """Read a published message."""
    head, _, payload = message.partition(b"\n")
    end, count, _ = head.split(b"-")
    return Pushed(run_id, int(end), int(count), payload, ended=count == b"0")


async def read_page(client: Client, keys: Keys, run_id: str, start: int, *, max_bytes: int) -> Page | None:
    """Read frames from `start` on: at most `max_bytes` of them, but at least one entry where there is one.

    None where the run is missing. Raises StoreUnavailable.
    """
    # The state is read first: entries that came after it do no harm, but a run seen ended has them all.
    (end, state), oldest, found = await client.execute_all(
        ("HMGET", keys.meta(run_id), "next", "state"),
        ("XRANGE", keys.log(run_id), "-", "+", "COUNT", 1),
        ("XRANGE", keys.log(run_id), start + 1, "+", "COUNT", _FIRST_COUNT),
    )
    if end is None:
        return None
    entries = await _fill(client, keys.log(run_id), _entries(found), max_bytes)
    following = max(int(end), entries[-1].end if entries else 0)
    first = oldest and _entry(oldest[0])
    return Page(
        entries=tuple(entries),
        next=following,
        first=first.end - first.count if first else following,
        ended=state == b"ended",
    )


async def _fill(client: Client, log: str, found: list[Entry], max_bytes: int) -> list[Entry]:
    # Entries differ in size by a factor of thousands: ask for few, then for more by what those weighed. A script could
    # count on the server, but entries that pass through Lua cost it six times the time, and all runs share the server.
    entries: list[Entry] = []
    room, count = max_bytes, _FIRST_COUNT
    while True:
        for entry in found:
            room -= len(entry.payload)
            if entries and room < 0:
                return entries
            entries.append(entry)
        if len(found) < count or room <= 0:
            return entries
        average = (max_bytes - room) // len(entries) + 1
        count = max(1, min(room // average, count * _GROWTH))
        found = _entries(await client.execute("XRANGE", log, entries[-1].end + 1, "+", "COUNT", count))


def _entries(replies: list[Reply]) -> list[Entry]:
    return [_entry(reply) for reply in replies]


def _entry(reply: Reply) -> Entry:
    identifier, (_, payload) = reply
    end, _, count = identifier.partition(b"-")
    return Entry(int(end), int(count), payload)
