"""Running one tool call: every way it can end has a result for the model."""

import asyncio
from typing import Annotated, Any

import pytest
from pydantic import Field

from engine.shorten import MAX_BYTES
from protocol.checkpoint import ToolCall, ToolResult
from protocol.json import Json, JsonObject
from tools.declare import Artifact, Call, Tool, tool
from tools.execute import MAX_ERROR_BYTES, execute

BIG = 2512292042121000001


@tool(repeat="safe")
async def echo(value: Any) -> Any:
    """Give back what was given."""
    return value


@tool(repeat="safe")
async def add(first: int, second: Annotated[int, Field(ge=0)] = 0) -> int:
    """Add two integers."""
    return first + second


@tool(repeat="never")
async def report(call: Call, steps: int) -> str:
    """Report some progress."""
    for step in range(steps):
        call.progress({"step": step, "id": BIG, "share": float("nan")})
    return f"key {call.key}"


@tool(repeat="safe")
async def show(call: Call, fails: bool) -> str:
    """Present something."""
    call.present(Artifact(kind="text", title="\x00", content={"id": BIG, "share": float("nan")}))
    if fails:
        raise ValueError("no")
    return "shown"


@tool(repeat="safe", timeout_seconds=0.01)
async def hang() -> None:
    """Never answer."""
    await asyncio.Event().wait()


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


ERRORS: dict[str, Any] = {
    "plain": ValueError("month must be in 1..12"),
    "long": ValueError("é" * 5_000_000),
    "secret": OSError("cannot reach postgres://user:pass@db/x, password=hunter22 key sk-ant-0123456789"),
    "silent": Silent(),
    "exit": SystemExit(3),
    "own-timeout": TimeoutError(),
    "own-cancel": asyncio.CancelledError(),
}


@tool(repeat="safe")
async def fail(how: str) -> None:
    """Fail."""
    raise ERRORS[how]


TOOLS: dict[str, Tool] = {each.name: each for each in (echo, add, report, show, hang, fail)}


async def run(name: str, *, progress: list[Json] | None = None, error: str = "", **given: Json) -> ToolResult:
    asked = ToolCall(step=1, ordinal=2, id="c1.2", provider_id="toolu_1", name=name, input=given, error=error)
    shown: list[Json] = [] if progress is None else progress
    call = Call(run_id="r", conversation_id="c", owner="o", key="r.1.2", progress=shown.append)
    return await execute(TOOLS, asked, call)


def failed(text: str) -> ToolResult:
    return ToolResult(ordinal=2, text=text, error=True)


async def test_a_result_goes_to_the_model_as_text_and_to_the_reader_as_a_value() -> None:
    """REQ-G1"""
    assert await run("add", first=2, second=3) == ToolResult(ordinal=2, text="5", output=5)
    assert await run("echo", value="as it is") == ToolResult(ordinal=2, text="as it is", output="as it is")
    assert await run("echo", value=None) == ToolResult(ordinal=2, text="", output=None)


async def test_long_integers_keep_their_digits_on_both_ways() -> None:
    """FR41 and [F8]: exact for the tool and the model, a string for a browser."""
    given: JsonObject = {"id": BIG, "small": 7, "float": 1.0}
    assert await run("echo", value=given) == ToolResult(
        ordinal=2,
        text='{"id": 2512292042121000001, "small": 7, "float": 1.0}',
        output={"id": "2512292042121000001", "small": 7, "float": 1.0},
    )


async def test_what_a_tool_presents_comes_with_its_result_as_a_browser_can_read_it() -> None:
    """REQ-G5 FR41 FR42"""
    shown: JsonObject = {"id": "c1.2.0", "kind": "text", "title": "\ufffd", "content": {"id": str(BIG), "share": None}}

    assert (await run("show", fails=False)).artifacts == (shown,)
    assert (await run("show", fails=True)).artifacts == ()


async def test_progress_is_json_that_a_frame_can_hold() -> None:
    """FR42 and REQ-G5"""
    seen: list[Json] = []
    assert await run("report", progress=seen, steps=2) == ToolResult(ordinal=2, text="key r.1.2", output="key r.1.2")
    assert seen == [{"step": step, "id": str(BIG), "share": None} for step in range(2)]


async def test_a_refused_input_says_what_was_wrong_with_it() -> None:
    assert await run("add", second=-1, third=1) == failed(
        "The input was not accepted: first: Field required; second: Input should be greater than or equal to 0; "
        "third: Extra inputs are not permitted."
    )


async def test_an_input_that_could_not_be_read_is_told_and_the_tool_not_called() -> None:
    """FR41"""
    assert await run("add", error="The call was not made: x.") == failed("The call was not made: x.")


async def test_an_unknown_tool_is_answered_with_the_known_ones() -> None:
    """FR26"""
    assert await run("sum") == failed(
        "There is no tool called 'sum'. Known tools: add, echo, fail, hang, report, show."
    )


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("plain", "The tool failed: ValueError: month must be in 1..12"),
        ("secret", "The tool failed: OSError: cannot reach [address] password=[hidden] key [hidden]"),
        ("silent", "The tool failed: Silent"),
        ("exit", "The tool failed: SystemExit: 3"),
        ("own-timeout", "The tool failed: TimeoutError"),
        ("own-cancel", "The tool failed: it was cancelled."),
    ],
    ids=lambda value: value if " " not in value else "",
)
async def test_a_failure_is_told_without_addresses_and_secrets(how: str, text: str) -> None:
    """FR26: whatever a tool raises is its result, never empty, and ends nothing else."""
    assert await run("fail", how=how) == failed(text)


async def test_a_huge_error_is_cut() -> None:
    """FR48"""
    result = await run("fail", how="long")
    assert result.error
    assert result.text.startswith("The tool failed: ValueError: ééé")
    assert len(result.text.encode()) <= MAX_ERROR_BYTES


async def test_a_huge_result_is_cut_for_both() -> None:
    """FR48"""
    result = await run("echo", value=["x" * 1_300_000])
    assert isinstance(result.output, dict)
    assert result.output["shortened"] == {"bytes": 1_300_004}  # [U3]
    assert result.text.endswith("\n[cut here: 1,300,004 bytes in all]")
    assert len(result.text.encode()) == MAX_BYTES


async def test_a_tool_that_does_not_answer_in_time_is_ended() -> None:
    assert await run("hang") == failed("The tool did not answer within 0.01 s.")


async def test_a_result_that_is_not_json_is_an_error_result() -> None:
    """FR42"""

    @tool(repeat="safe")
    async def odd() -> object:
        """Return something odd."""
        return object()

    asked = ToolCall(step=1, ordinal=2, id="c1.2", provider_id="toolu_1", name="odd")
    call = Call(run_id="r", conversation_id="c", owner="o", key="k", progress=print)
    assert await execute({"odd": odd}, asked, call) == failed(
        "The tool's result cannot be used: a value of type object is not JSON."
    )


async def test_a_cancellation_from_outside_passes_through() -> None:
    """LAW-P1 FR26: stopping a run stops its tools."""
    begun = asyncio.Event()

    @tool(repeat="safe")
    async def wait() -> None:
        """Wait for ever."""
        begun.set()
        await asyncio.Event().wait()

    asked = ToolCall(step=1, ordinal=0, id="c1.0", provider_id="toolu_1", name="wait")
    call = Call(run_id="r", conversation_id="c", owner="o", key="k", progress=print)
    running = asyncio.create_task(execute({"wait": wait}, asked, call))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_what_cannot_be_a_tool_is_refused_where_it_is_declared() -> None:
    async def undescribed() -> None:
        pass

    async def untyped(value) -> None:  # type: ignore[no-untyped-def] # the missing type is the point
        """Has a parameter without a type."""

    def plain() -> None:
        """Is not async."""

    for function in (undescribed, untyped, plain):
        with pytest.raises(TypeError):
            tool(repeat="safe")(function)  # type: ignore[arg-type] # the wrong type is the point
    assert add.schema.input_schema == {
        "additionalProperties": False,
        "properties": {
            "first": {"title": "First", "type": "integer"},
            "second": {"default": 0, "minimum": 0, "title": "Second", "type": "integer"},
        },
        "required": ["first"],
        "type": "object",
    }
