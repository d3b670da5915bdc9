"""The page on the embedded stack, as a person has it after `make run`: the demo model answers, the tools are real."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.asking import ask, settled
from tests.browser.conftest import PHONE
from tests.stack.embedded import Stack, running_stack

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(120)]

CRASH = "How does a turn survive a crash?"
OUTBOX = "What is 17.5% of 2,480? Note it in the outbox."
COUNT = "Count slowly to 20."
ASK_FIRST = "Send a note, but ask me first."
FOR_ANYTHING_MS = 60_000


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("state")) as stack:
        yield stack


@asynccontextmanager
async def somebody(browser: Browser, stack: Stack) -> AsyncIterator[Page]:
    """The page of a person who was never here before."""
    context = await browser.new_context(viewport=PHONE)
    page = await context.new_page()
    page.set_default_timeout(FOR_ANYTHING_MS)
    await page.goto(stack.url)
    await page.wait_for_selector("#starters button")
    yield page
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def person(browser: Browser, stack: Stack) -> AsyncIterator[Page]:
    async with somebody(browser, stack) as page:
        yield page


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def undisturbed(browser: Browser, stack: Stack) -> str:
    """What the thread shows in the end where nothing disturbs the turn."""
    async with somebody(browser, stack) as page:
        await ask(page, CRASH)
        return await settled(page)


async def read_at_least(page: Page, index: int) -> None:
    """Wait until the frames before this index are shown."""
    await page.wait_for_function(
        "(index) => Number(document.querySelector('.turn:last-child')?.dataset.next) >= index", arg=index
    )


FORGET_ALL_BUT_THE_ID = """{
    const key = "turnkeep.conversation";
    const kept = JSON.parse(sessionStorage.getItem(key) ?? "null");
    if (kept) sessionStorage.setItem(key, JSON.stringify({ ...kept, turns: null, run: null }));
}"""


async def parts(page: Page) -> list[str]:
    """What the answers show, in order."""
    return await page.locator(".parts > *").all_inner_texts()


async def test_tools_run_and_an_answer_comes(person: Page) -> None:
    await person.get_by_role("button", name=OUTBOX).click()
    shown = await settled(person)

    names = await person.locator(".tool-name").all_inner_texts()
    assert sorted(names) == ["calculator", "read_outbox", "send_note"]
    assert await person.locator(".tool-state").all_inner_texts() == ["Done"] * len(names)
    assert "434" in shown
    assert "durable workflow · 3 steps" in shown


@pytest.mark.parametrize("index", [5, pytest.param(50, marks=pytest.mark.long)])
async def test_a_page_reloaded_in_mid_turn_ends_as_if_undisturbed(person: Page, undisturbed: str, index: int) -> None:
    """REQ-E5, LAW-P2"""
    await ask(person, CRASH)
    await read_at_least(person, index)

    await person.reload()

    assert await settled(person) == undisturbed


async def test_stop_ends_the_turn_and_the_next_one_is_answered(person: Page) -> None:
    """REQ-U9, REQ-T7"""
    await ask(person, COUNT)
    await person.locator(".tool-count").filter(has_text="2 of 20").wait_for()

    await person.get_by_role("button", name="Stop").click()
    shown = await settled(person)
    assert "Stopped." in shown
    assert await person.locator(".tool-state").all_inner_texts() == ["Failed"]

    await ask(person, "Explain frames.")
    await expect(person.locator(".turn")).to_have_count(2)
    assert "These are prepared words of the demo model." in await settled(person)


async def test_what_is_said_meanwhile_is_heard_and_stays(person: Page) -> None:
    """[W5]: also for who opens the conversation anew and has only what is stored."""
    await ask(person, CRASH)
    await read_at_least(person, 5)
    await ask(person, "Be brief, please.")
    await settled(person)
    shown = await parts(person)
    await expect(person.locator(".turn")).to_have_count(1)
    await expect(person.locator(".question")).to_have_text([f"You asked{CRASH}", "You saidBe brief, please."])

    await person.add_init_script(FORGET_ALL_BUT_THE_ID)
    await person.reload()
    await settled(person)

    assert await parts(person) == shown
    await expect(person.locator(".question")).to_have_text([f"You asked{CRASH}", "You saidBe brief, please."])


@pytest.mark.parametrize(
    ("word", "state"), [("Approve", "Done"), pytest.param("Deny", "Declined", marks=pytest.mark.long)]
)
async def test_a_run_that_waits_goes_on_by_a_click(person: Page, word: str, state: str) -> None:
    """[W1] [W7]: nobody executes it meanwhile."""
    await ask(person, ASK_FIRST)
    await expect(person.locator(".tool-state")).to_have_text("Needs your approval")

    await person.get_by_role("button", name=word).click()
    shown = await settled(person)

    assert await person.locator(".tool-state").all_inner_texts() == [state]
    assert "What became of it is shown above." in shown


@pytest.mark.long
async def test_a_worker_that_dies_does_not_show_in_the_end(person: Page, stack: Stack, undisturbed: str) -> None:
    """LAW-P2: the step begins again on another worker, and what the lost one showed is withdrawn."""
    await ask(person, CRASH)
    await read_at_least(person, 60)

    await asyncio.to_thread(stack.kill, "worker")

    assert await settled(person) == undisturbed


@pytest.mark.long
async def test_an_api_process_that_dies_does_not_show_in_the_end(person: Page, stack: Stack, undisturbed: str) -> None:
    """FR02: the connection breaks, the page comes back to the process that replaces it."""
    await ask(person, CRASH)
    await read_at_least(person, 60)

    await asyncio.to_thread(stack.kill, "api")

    await expect(person.locator("#status")).to_contain_text("Reconnecting…")
    assert await settled(person) == undisturbed


@pytest.mark.long
async def test_the_page_says_that_a_turn_runs_inline(person: Page, stack: Stack, undisturbed: str) -> None:
    """LAW-P4: the switch changes where a turn runs and nothing else."""
    await asyncio.to_thread(stack.command_line, "dispatch", "off")
    await asyncio.to_thread(stack.until_dispatch, switch="off")

    try:
        await ask(person, CRASH)
        inline = await settled(person)
    finally:
        await asyncio.to_thread(stack.command_line, "dispatch", "on")
        await asyncio.to_thread(stack.until_dispatch, switch="on")

    assert inline == undisturbed.replace("durable workflow", "inline")


@pytest.mark.long
async def test_two_conversations_at_once_keep_their_answers_apart(browser: Browser, stack: Stack) -> None:
    """FR79: two tabs of one person, each with an answer on its way; one of them is reloaded meanwhile."""
    async with somebody(browser, stack) as one:
        other = await one.context.new_page()
        other.set_default_timeout(FOR_ANYTHING_MS)
        await other.goto(stack.url)
        await other.wait_for_selector("#starters button")
        await one.bring_to_front()  # a browser draws only the tab that is in front
        await ask(one, COUNT)
        await read_at_least(one, 8)
        await other.bring_to_front()
        await ask(other, "Explain frames.")
        await one.reload()
        for page in (other, one):
            await page.bring_to_front()
            await settled(page)
        asked = [await page.locator(".question").all_text_contents() for page in (one, other)]
        called = [await page.locator(".tool-name").all_inner_texts() for page in (one, other)]

    assert asked == [[f"You asked{COUNT}"], ["You askedExplain frames."]]
    assert ["slow_count" in names for names in called] == [True, False]
