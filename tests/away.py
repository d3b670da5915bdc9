"""Records that a test can take away, and bring back."""

from protocol.errors import TurnkeepError
from records.records import Records
from records.values import HistoryMessage, Run, Settlement
from tests.rig import Rig


class AwayRecords(Records):
    """While `away` nothing answers; `refuses` is what a settlement dies of while set."""

    away = False
    refuses: Exception | None = None

    async def settle(self, run_id: str, settlement: Settlement) -> bool:
        self._answer()
        if self.refuses is not None:
            raise self.refuses
        return await super().settle(run_id, settlement)

    async def history(
        self, tenant: str, conversation_id: str, before_sequence: int, turns: int | None
    ) -> tuple[HistoryMessage, ...]:
        self._answer()
        return await super().history(tenant, conversation_id, before_sequence, turns)

    async def run(self, run_id: str) -> Run | None:
        self._answer()
        return await super().run(run_id)

    async def unfinished(self, older_than_ms: int, limit: int, past: Run | None = None) -> tuple[Run, ...]:
        self._answer()
        return await super().unfinished(older_than_ms, limit, past)

    def _answer(self) -> None:
        if self.away:
            raise TurnkeepError("unavailable", "The records do not answer.")


def records_of(rig: Rig) -> AwayRecords:
    """The rig's records, where they are such."""
    assert isinstance(rig.records, AwayRecords)
    return rig.records
