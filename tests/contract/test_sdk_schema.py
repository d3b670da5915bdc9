"""Every frame that a turn gives, against the schemas of the AI SDK's own packages.

The newest ones let unknown keys pass; 5.0.60 and 6.0.116 refuse them, so they are asked as well. One schema a projection.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from frames import sse
from frames.projection import Projection, Sdk
from protocol.frames import Frame
from tests.clients.node import NodeClient
from tests.golden import test_beside, test_failing, test_turns, test_waiting
from tests.golden.frames import expected

PACKAGES: dict[str, Sdk] = {"ai-5": 5, "ai-6-strict": 6, "ai": 6}
BESIDE: list[Any] = [
    {"type": "reset-step"},
    {"type": "data-recovering", "data": {"attempt": 2}, "transient": True},
    {"type": "data-void", "data": None, "transient": True},
    {"type": "text-end", "id": "t1"},
    {"type": "abort", "reason": "stopped"},
    {"type": "abort"},
]


def golden() -> list[Frame]:
    """All that the golden turns give, and what only happens to a turn that is disturbed."""
    kinds = (test_turns, test_waiting, test_failing, test_beside)
    lines = [line for kind in kinds for name in kind.NAMES for line in expected(kind.TURNS, name)]
    return [*(json.loads(line) for line in dict.fromkeys(lines)), *BESIDE]


def projected(frames: list[Frame], sdk: Sdk) -> list[Frame]:
    payload = Projection(sdk)(b"".join(sse.encode(index, frame) for index, frame in enumerate(frames)))
    return [sse.decode(piece)[1] for piece in sse.split(payload)]


async def refused(folder: Path, major: Any, chunks: dict[str, list[Frame]]) -> list[dict[str, Any]]:
    file = folder / "chunks.json"
    file.write_text(json.dumps(chunks))
    found: list[dict[str, Any]] = await NodeClient("schema.mjs", major)(str(file))
    return found


@pytest.mark.timeout(180)  # the first time it installs the packages
async def test_every_frame_fits_the_schema_of_the_newest_sdk(tmp_path: Path) -> None:
    """[F4] [F5] REQ-B5"""
    assert await refused(tmp_path, 7, {"ai": golden()}) == []


@pytest.mark.long
@pytest.mark.timeout(180)
async def test_every_projected_frame_fits_the_strictest_schema_of_its_sdk(tmp_path: Path) -> None:
    """[R10] [F4]: and the schemas bite."""
    chunks = {package: projected(golden(), sdk) for package, sdk in PACKAGES.items()}
    assert await refused(tmp_path, 6, chunks) == []

    reset: Frame = {"type": "reset-step"}
    assert await refused(tmp_path, 6, {"ai": [reset]}) == [{"package": "ai", "chunk": reset}]
