"""The records: conversations, their messages, what is known about runs, and what they cost, in SQL.

Every method is one transaction inside one time bound and raises TurnkeepError: `unavailable` where the database did not
answer (then a write may or may not have happened; every write may be repeated), `invalid` where an id cannot be one.
Times are arguments, in milliseconds since the epoch.
"""

from collections.abc import Collection, Mapping
from typing import Self

from sqlalchemy.exc import IntegrityError

from protocol.errors import TurnkeepError
from protocol.json import Json, JsonObject
from protocol.turn import Transport
from records import conversations, erasure, history, keys, migrate, outputs, runs, settle, spend, turns
from records.database import Database
from records.files import Files
from records.spend_values import Admission, Charge, Reservation, SpendTotal
from records.values import (
    ApiKey,
    Beginning,
    Conversation,
    Deleted,
    HistoryMessage,
    KeptOutput,
    Key,
    Place,
    Run,
    RunFilter,
    Settlement,
    Span,
    StoredMessage,
    TurnBegin,
)

TRIES = 3


class Records:
    """The records of a deployment, at an address whose tables `records.migrate.upgrade` has made.

    `sqlite:////folder/file.db` or `postgresql://user@host/name`. Connections are opened when first needed.
    """

    def __init__(self, url: str, *, timeout_ms: int = 5_000) -> None:
        self._database = Database(url, timeout_ms)
        self.files = Files(self._database)

    @classmethod
    async def in_memory(cls) -> Self:
        """Records of this process alone, gone with `close`; for tests."""
        records = cls("sqlite://")
        await records._database.write(migrate.upgrade_on)
        return records

    async def close(self) -> None:
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def begin(self, turn: TurnBegin) -> Beginning:
        """Insert the run row and the user's message and take the conversation's active place: all of it or nothing.

        The same run id once begun is `Known`, whoever else has the place by then.
        """
        for _ in range(TRIES):
            try:
                return await self._database.write(lambda connection: turns.begin(connection, turn))
            except IntegrityError:  # another process was first: look again
                continue
        raise TurnkeepError("unavailable", "The turn could not begin.")

    async def running(self, run_id: str, transport: Transport, now_ms: int) -> bool:
        """Note who executes the run. False where there is no such run or it has ended: do not execute it (C5)."""
        return await self._database.write(lambda connection: runs.running(connection, run_id, transport, now_ms))

    async def mark_memory(self, run_id: str) -> bool:
        """Note, before it executes, that no other process may ever claim this run (C6). False as for `running`."""
        return await self._database.write(lambda connection: runs.mark_memory(connection, run_id))

    async def settle(self, run_id: str, settlement: Settlement) -> bool:
        """Store the answer, end the run, free the conversation. The first settlement stands; repeating it is harmless.

        What the run cost is stored with it, and no reservation of it stays open (D6). True where the records hold this settlement. False where they never will: the run is unknown or ended
        otherwise, or the conversation was deleted or erased meanwhile (the run is ended, the answer not kept).
        """
        return await self._database.write(lambda connection: settle.settle(connection, run_id, settlement))

    async def run(self, run_id: str) -> Run | None:
        """The run's row. Whose it is, is for the caller to compare."""
        return await self._database.read(lambda connection: runs.find(connection, run_id))

    async def shown_run(self, run_id: str) -> Run | None:
        """As `run`, but for those who may look at its conversation: None where that was deleted (LAW-P5)."""
        return await self._database.read(lambda connection: runs.shown(connection, run_id))

    async def active_run(self, key: Key) -> Run | None:
        """The run that has the conversation's active place."""
        return await self._database.read(lambda connection: runs.active(connection, key))

    async def unfinished(self, older_than_ms: int, limit: int, past: Run | None = None) -> tuple[Run, ...]:
        """Runs that are not known to be finished and whose row did not change since `older_than_ms`, oldest first (C11).

        `past` is the last one of the page before.
        """
        return await self._database.read(lambda connection: runs.unfinished(connection, older_than_ms, limit, past))

    async def finished(self, run_ids: Collection[str], now_ms: int) -> None:
        """Note that these runs, which have ended, have nothing more to come: their logs have their ends, or are gone."""
        await self._database.write(lambda connection: runs.finished(connection, run_ids, now_ms))

    async def runs(self, wanted: RunFilter, past: tuple[int, str] | None, limit: int) -> tuple[Run, ...]:
        """Runs of a tenant, whoever owns them, the newest first: for those who run the service.

        `past` is `created_ms` and id of the last one of the page before.
        """
        return await self._database.read(lambda connection: runs.listed(connection, wanted, past, limit))

    async def history(
        self, tenant: str, conversation_id: str, before_sequence: int, turns: int | None
    ) -> tuple[HistoryMessage, ...]:
        """What was said before the message at `before_sequence`: the last `turns` questions and all after them.

        None is everything, 0 nothing. A question without an answer is in it like any other.
        """
        return await self._database.read(
            lambda connection: history.window(connection, tenant, conversation_id, before_sequence, turns)
        )

    async def repair(self, tenant: str, conversation_id: str, providers: Mapping[int, tuple[JsonObject, ...]]) -> None:
        """Put these in place of what answers hold of the model's own messages, by sequence."""
        await self._database.write(lambda connection: history.repair(connection, tenant, conversation_id, providers))

    async def entitle(self, tenant: str, conversation_id: str, title: str) -> None:
        """Give a conversation its title, unless it has one."""
        await self._database.write(lambda connection: conversations.entitle(connection, tenant, conversation_id, title))

    async def suggest(self, place: Place, prompts: tuple[str, ...]) -> None:
        """Store prompts to go on with beside the answer at this place."""
        await self._database.write(lambda connection: conversations.suggest(connection, place, prompts))

    async def create(self, key: Key, title: str, now_ms: int) -> bool:
        """Create a conversation. False where the id is taken, whoever has it: `conversation` tells its owner more."""
        try:
            await self._database.write(lambda connection: conversations.create(connection, key, title, now_ms))
        except IntegrityError:
            return False
        return True

    async def conversation(self, key: Key) -> Conversation | None:
        return await self._database.read(lambda connection: conversations.find(connection, key))

    async def conversations(
        self, tenant: str, owner: str, limit: int = 100, past: tuple[int, str] | None = None
    ) -> tuple[Conversation, ...]:
        """The owner's conversations, the one changed last first. `past` is `updated_ms` and id of the last one of the page before."""
        return await self._database.read(
            lambda connection: conversations.of_owner(connection, tenant, owner, limit, past)
        )

    async def rename(self, key: Key, title: str) -> bool:
        """Give a conversation a title. False where there is none for this owner."""
        return await self._database.write(lambda connection: conversations.rename(connection, key, title))

    async def delete(self, key: Key, now_ms: int) -> Deleted | None:
        """Delete a conversation and its files: nobody finds it any more, and nothing is added to it (FR34).

        None where there is none for this owner. Its run is to be stopped and its logs to be erased by the caller; whoever
        dies before that is followed by who asks `deleted`.
        """
        return await self._database.write(lambda connection: erasure.remove(connection, key, now_ms))

    async def delete_all(self, tenant: str, owner: str, now_ms: int, limit: int) -> tuple[Deleted, ...]:
        """Delete some of an owner's conversations; none is left where this gives none."""
        return await self._database.write(
            lambda connection: erasure.remove_all(connection, tenant, owner, now_ms, limit)
        )

    async def deleted(self, until_ms: int, limit: int) -> tuple[Deleted, ...]:
        """Conversations that were deleted until then and are not erased, or are not forgotten yet; longest ago first."""
        return await self._database.read(lambda connection: erasure.due(connection, until_ms, limit))

    async def deleted_threads(self, tenant: str, owner: str, stem: str) -> int:
        """How often the conversation of a session was deleted: the next one needs another id."""
        return await self._database.read(lambda connection: erasure.threads(connection, tenant, owner, stem))

    async def runs_with_logs(self, key: Key, ended_since_ms: int) -> tuple[str, ...]:
        """The runs of a conversation, deleted or not, that have not ended or did so since."""
        return await self._database.read(lambda connection: erasure.with_logs(connection, key, ended_since_ms))

    async def forgotten(self, key: Key, now_ms: int) -> None:
        """Note that no run of a deleted conversation goes on, and that no store has a log of one."""
        await self._database.write(lambda connection: erasure.forgotten(connection, key, now_ms))

    async def erase(self, key: Key, now_ms: int) -> None:
        """Erase a deleted conversation: its row stays, so that its id is not used again (C5). May be broken off and repeated."""
        while not await self._database.write(lambda connection: erasure.erase_some(connection, key, now_ms)):
            pass

    async def messages(self, key: Key, span: Span) -> tuple[StoredMessage, ...] | None:
        """The conversation's messages by sequence. None where there is no such conversation for this owner."""
        return await self._database.read(lambda connection: conversations.messages_of(connection, key, span))

    async def keep_output(self, output: KeptOutput) -> bool:
        """Keep a tool's output whole. False where it is not kept: the run has too many, or its conversation is gone."""
        try:
            return await self._database.write(lambda connection: outputs.keep(connection, output))
        except IntegrityError:  # the conversation was erased
            return False

    async def output(self, run_id: str, call_id: str) -> Json | None:
        """A kept output, None where there is none: null is not large enough to be kept. Whose the run is, is for the caller to compare."""
        return await self._database.read(lambda connection: outputs.find(connection, run_id, call_id))

    async def reserve(self, reservation: Reservation, budget_micro_usd: int) -> Admission:
        """Set aside what a model call may cost, if it fits into the day's budget of its pipeline (D1 to D4).

        `ended`: the run is unknown or has ended, and calls no model any more.
        """
        return await self._database.write(lambda connection: spend.reserve(connection, reservation, budget_micro_usd))

    async def charge(self, reservation: Reservation, charge: Charge, now_ms: int) -> None:
        """Put what a call cost in its reservation's place (D3, D5). The first charge stands; repeating it is harmless."""
        await self._database.write(lambda connection: spend.charge(connection, reservation, charge, now_ms))

    async def cost(self, run_id: str) -> int:
        """What the run's calls come to, reserved ones included, in millionths of a US dollar."""
        return await self._database.read(lambda connection: spend.cost(connection, run_id))

    async def spent(self, since_day: int, until_day: int) -> tuple[SpendTotal, ...]:
        """What was spent from one day on to before another, by pipeline and model. Days are counted from the epoch, in UTC."""
        return await self._database.read(lambda connection: spend.totals(connection, since_day, until_day))

    async def used(self, pipeline: str, day: int) -> int:
        """What of a day's budget is used or reserved, in millionths of a US dollar."""
        return await self._database.read(lambda connection: spend.used(connection, pipeline, day))

    async def add_key(self, key: ApiKey) -> bool:
        """Keep an API key. False where its prefix is taken."""
        try:
            await self._database.write(lambda connection: keys.add(connection, key))
        except IntegrityError:
            return False
        return True

    async def key(self, prefix: str) -> ApiKey | None:
        """The API key of this prefix, revoked or not."""
        return await self._database.read(lambda connection: keys.find(connection, prefix))

    async def keys(self) -> tuple[ApiKey, ...]:
        """All API keys, the oldest first."""
        return await self._database.read(keys.listed)

    async def revoke_key(self, prefix: str, now_ms: int) -> bool:
        """Let an API key open nothing any more. False where there is none."""
        return await self._database.write(lambda connection: keys.revoke(connection, prefix, now_ms))
