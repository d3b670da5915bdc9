"""The page, watching while the worker of its turn is killed, in a world where a turn stands still at a named point."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from tests.browser.asking import ask, read_until, settled
from tests.browser.conftest import PHONE
from tests.crash.watching import SCENES, Scene, effects, lose_the_worker, salts, watched_world
from tests.crash.world import World

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(120), pytest.mark.long]

FOR_ANYTHING_MS = 60_000


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def made() -> AsyncIterator[World]:
    async with watched_world() as made:
        yield made


@dataclass
class Asking:
    """Gives the page's question to a scripted assistant, and its run a place to stand at."""

    made: World
    scene: Scene
    run_id: str = ""

    async def __call__(self, route: Route) -> None:
        body = json.loads(route.request.post_data or "{}")
        self.run_id = body["run_id"]
        self.made.plans.write(self.run_id, self.scene.place)
        await route.continue_(post_data=json.dumps({**body, "assistant": self.scene.turn}))


@asynccontextmanager
async def page_of(browser: Browser, made: World) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport=PHONE)
    page = await context.new_page()
    page.set_default_timeout(FOR_ANYTHING_MS)
    await page.goto(made.addresses["api-0"])
    await page.wait_for_selector("body[data-ready]")
    yield page
    await context.close()


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
async def test_the_page_ends_with_the_stored_message(browser: Browser, made: World, scene: Scene) -> None:
    """LAW-P2 LAW-P3 FR09 FR23 [L8] [L9]: also for who opens it again and sees what is stored."""
    asking = Asking(made, scene)
    async with page_of(browser, made) as page:
        await page.route("**/api/chat", asking)
        await ask(page, "Go on.")
        await standing(page, scene)
        before = await page.locator("#thread").inner_text()
        await lose_the_worker(made, asking.run_id)
        after = await settled(page)
        words = await page.locator(".answer").all_inner_texts()

        await page.reload()
        await settled(page)
        stored = await page.locator(".answer").all_inner_texts()

    assert len(salts(before)) == 1
    assert (salts(before) <= salts(after)) == scene.kept
    assert words == stored
    assert effects(made, asking.run_id).items() >= scene.effects.items()


async def standing(page: Page, scene: Scene) -> None:
    """Wait until the page shows what was written before the turn stood still."""
    if scene.kept:
        await expect(page.locator(".tool-state").last).to_have_text("Running…")
    else:
        await read_until(page, scene.place.number + 1)
