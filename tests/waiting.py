"""Tools that wait for a person, and the person."""

from collections.abc import Mapping

from checkpoints.port import RunView
from protocol.json import Json
from protocol.turn import TurnInput
from tests.rig import RUN_ID, Outside, Rig
from tools.declare import Call, Tool, tool


def waiting_tools(outside: Outside) -> tuple[Tool, ...]:
    """One that needs approval before it has its effect, and one that only a person can answer."""

    @tool(repeat="never", approval=True)
    async def pay(call: Call, euros: int) -> str:
        """Pay."""
        outside.effects.append(call.key)
        return f"paid {euros}"

    @tool(repeat="safe", question=True)
    async def ask_user(question: str) -> str:
        """Ask the user."""
        raise AssertionError(question)  # nobody calls a question

    return (pay, ask_user)


async def say(rig: Rig, *inputs: Mapping[str, Json], run_id: str = RUN_ID) -> RunView:
    """Put these into the run's inbox. An input without an id is the decision on its target."""
    view = None
    for one in inputs:
        item = TurnInput.model_validate({"id": f"decision:{one.get('target')}", **one})
        view = await rig.store.put_input(run_id, item.id, item.model_dump_json().encode())
    assert isinstance(view, RunView), view
    return view
