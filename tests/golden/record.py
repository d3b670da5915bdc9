"""Write the frame files that are missing: `make record`. An existing file is never touched."""

import asyncio
import sys
from pathlib import Path

from protocol.frames import Frame
from tests.golden import test_beside, test_failing, test_turns, test_waiting
from tests.golden.frames import written


def record(target: Path, frames: list[Frame]) -> None:
    target.write_text("\n".join(written(frames)) + "\n")
    sys.stdout.write(f"{target.name}: {len(frames)} frames\n")


async def main() -> None:
    for name in test_turns.NAMES:
        target = test_turns.TURNS / f"{name}.frames.jsonl"
        if not target.exists():
            record(target, (await test_turns.play(name))[0])
    for module in (test_waiting, test_failing, test_beside):
        for name in module.NAMES:
            target = module.TURNS / f"{name}.frames.jsonl"
            if not target.exists():
                record(target, await module.frames_of(name))


if __name__ == "__main__":
    asyncio.run(main())
