"""The routes against their own description: schemathesis, with a fixed seed, all its checks, for everybody who may come.

EXAMPLES is how many requests it makes up for each route in its random phase; its systematic phase makes some fifty more.
"""

import asyncio
import json
import sys
from pathlib import Path

import httpx2
import pytest

from tests.contract.http_callers import INTERNAL, admitting, key_of
from tests.contract.http_house import running, saying, served

SEED, EXAMPLES = 20_26, 15

# An index that no description can tell from others is refused where the run has not come that far ([R5]).
STREAMS = """
[[operations]]
include-path-regex = "/stream$|^/api/chat$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "404", "409", "429"]

# Whether bytes are a file of a kind that is taken is for the bytes to say.
[[operations]]
include-path = "/api/files"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "404", "413", "429"]

# The conversation that all requests name has to stay.
[[operations]]
include-name = "DELETE /api/conversations/{conversation}"
parameters = { "path.conversation" = "another" }
"""


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("who", ["owner", "foreign", "anonymous", "internal"])
async def test_every_route_is_as_it_is_described(who: str, tmp_path: Path) -> None:
    """REQ-V3, REQ-V4, [E1]: no finding."""
    async with running(admitting()) as house, served(house.application, None) as url:
        house.plays(saying("Hello"))
        bearers = {"owner": await key_of(house), "foreign": await key_of(house, "eve"), "internal": INTERNAL}
        (tmp_path / "schemathesis.toml").write_text(await _ann_asked(url, bearers["owner"]))
        header = f"Authorization: Bearer {bearers[who]}" if who in bearers else "x-nobody: 1"
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json", "--checks", "all", "--seed", str(SEED),
            "--max-examples", str(EXAMPLES), "--header", header, "--continue-on-failure", "--no-color", "--warnings", "off",
            "--exclude-checks", "ensure_resource_availability",  # every request names the same conversation, whatever was created
            "--generation-database", "none", "--suppress-health-check", "all",
            cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output, _ = await process.communicate()

    assert process.returncode == 0, output.decode()
    assert b"No issues found" in output


async def _ann_asked(url: str, bearer: str) -> str:
    """The settings that make every request name a run and a conversation that are there."""
    async with httpx2.AsyncClient(base_url=url, headers={"authorization": f"Bearer {bearer}"}) as ann:
        said = await ann.post("/api/chat?stream=0", json={"message": "hi", "conversation_id": "c1"})
    handle = said.headers["x-workflow-run-id"]
    names = {"path.run": handle, "path.name": handle, "path.conversation": "c1"}
    return (
        "[parameters]\n"
        + "".join(f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in names.items())
        + STREAMS
    )
