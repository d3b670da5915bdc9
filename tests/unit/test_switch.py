"""How the switch is spelled, and what a process makes of what it finds."""

import json
from typing import Final

import pytest

from dispatch.switch import OFF, ON, Switch, from_json, from_text
from dispatch.watch import MemorySwitch, SwitchWatch
from protocol.errors import StoreUnavailable, TurnkeepError
from protocol.json import Json

CANARY: Final = Switch(percent=10, allow=frozenset({"ada", "grace"}))


@pytest.mark.parametrize(
    ("text", "switch"),
    [
        ("on", ON), ("ON", ON), (" True ", ON), ("yes\n", ON),
        ("off", OFF), ("False", OFF), ("no", OFF), ("OFF ", OFF),
        ('{"percent": 10, "allow": ["grace", "ada", "ada"]}', CANARY), (' {"percent": 100}', ON), ('{"percent":0.0}', OFF),
    ],
)  # fmt: skip
def test_these_spellings_are_understood(text: str, switch: Switch) -> None:
    """FR80"""
    assert from_text(text) == switch


@pytest.mark.parametrize(
    "text",
    [
        "", "0", "1", "10", "null", "none", "flase", "of", "on off", "true, false", '"on"', "[]", "{}", '{"percent": "10"}',
        '{"percent": 101}', '{"percent": -1}', '{"percent": 9.5}', '{"percent": true}', '{"percent": NaN}', '{"percent": 10',
        '{"percent": 10, "allow": "ada"}', '{"percent": 10, "allow": [1]}', '{"percent": 10, "deny": []}', '{"allow": ["ada"]}',
    ],
)  # fmt: skip
def test_everything_else_is_refused(text: str) -> None:
    """FR80: a word that means the opposite of what it was read as is found out in an incident."""
    with pytest.raises(TurnkeepError) as refused:
        from_text(text)

    assert refused.value.kind == "invalid"


@pytest.mark.parametrize("value", [None, True, False, 1, 10, ["on"], {}, {"percent": True}])
def test_json_is_read_as_strictly(value: Json) -> None:
    """FR80: JSON's own true is refused too: the switch is a word or a percentage."""
    with pytest.raises(TurnkeepError):
        from_json(value)


@pytest.mark.parametrize("switch", [ON, OFF, CANARY, Switch(percent=0, allow=frozenset({"ada"}))])
def test_what_is_written_reads_back(switch: Switch) -> None:
    assert [from_text(switch.to_text()), from_json(switch.to_json())] == [switch, switch]


async def test_nobody_set_it_so_the_default_counts() -> None:
    store = MemorySwitch()
    watch = SwitchWatch(store, default=OFF)
    await watch.refresh()
    before = watch.current
    await store.set("on")
    await watch.refresh()
    during = watch.current
    store.clear()
    await watch.refresh()

    assert [before, during, watch.current] == [OFF, ON, OFF]


async def test_a_stored_value_that_is_no_switch_leaves_the_last_one_and_warns_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """FR80"""
    store = MemorySwitch("off")
    watch = SwitchWatch(store, default=ON)
    await watch.refresh()
    await store.set("flase")
    await watch.refresh()
    await watch.refresh()

    assert watch.current == OFF
    assert [record.levelname for record in caplog.records] == ["WARNING"]


class AwaySwitch(MemorySwitch):
    """A store that can be away."""

    away = False

    async def get(self) -> str | None:
        if self.away:
            raise StoreUnavailable
        return await super().get()

    async def set(self, value: str) -> None:
        if self.away:
            raise StoreUnavailable
        await super().set(value)


async def test_while_the_store_is_away_the_last_value_counts() -> None:
    """REQ-F2: "off" outlives the outage it was set for."""
    store = AwaySwitch("off")
    watch = SwitchWatch(store, default=ON)
    await watch.refresh()
    store.away = True
    await watch.refresh()

    assert watch.current == OFF


async def test_what_could_not_be_stored_does_not_count_here_either() -> None:
    store = AwaySwitch("on")
    watch = SwitchWatch(store, default=ON)
    store.away = True
    with pytest.raises(StoreUnavailable):
        await watch.set(OFF)

    assert watch.current == ON


async def test_changes_are_told_and_repetitions_are_not() -> None:
    told: list[Switch] = []
    store = MemorySwitch("off")
    watch = SwitchWatch(store, default=ON, on_change=told.append)
    await watch.refresh()
    await watch.refresh()
    await watch.set(CANARY)

    assert (told, json.loads(await store.get() or "")) == (
        [OFF, CANARY],
        {"percent": 10, "allow": ["ada", "grace"]},
    )
