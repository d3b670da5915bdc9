"""The Python client with bearers that live shorter than a run."""

from collections.abc import Generator

import httpx2
from turnkeep_client import AsyncClient, Limits

from tests.contract.http_callers import ISSUER, admitting
from tests.contract.http_house import House, running, saying
from tests.rig import NOW_MS

LEEWAY_SECONDS = 30
AT_ONCE = Limits(first_pause=0)


class Fresh(httpx2.Auth):
    """A token of a moment for the first request, one that lasts for each after it; the model goes on from there."""

    def __init__(self, house: House) -> None:
        self.given = 0
        self._house = house

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        self.given += 1
        lives = 0.3 - LEEWAY_SECONDS if self.given == 1 else 3_600
        request.headers["authorization"] = f"Bearer {ISSUER.token('ann', exp=NOW_MS / 1_000 + lives)}"
        if self.given > 1:
            self._house.model.release()
        yield request


async def test_a_run_is_read_on_with_a_fresh_bearer_at_the_same_index() -> None:
    """[T6], FR44: the stream is cut when its bearer expires; no frame is seen twice and none is missing."""
    async with running(admitting()) as house:
        house.plays(saying("one", "two", "three"), hold=1)
        auth, transport = Fresh(house), httpx2.AsyncHTTPTransport(uds=house.socket)
        async with httpx2.AsyncClient(transport=transport, base_url="http://turnkeep.test", auth=auth) as http:
            client = AsyncClient(limits=AT_ONCE, http=http)
            seen = [event async for event in client.ask("hi", conversation_id="c1")]

    assert [event.index for event in seen] == list(range(len(seen)))
    assert "".join(event.text for event in seen) == "onetwothree"
    assert (seen[-1].type, auth.given) == ("finish", 2)
