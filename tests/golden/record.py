"""Write the frame files that are missing: `make record`. An existing file is never touched."""

import asyncio
import sys

from tests.golden.test_turns import NAMES, TURNS, play, written


async def main() -> None:
    for name in NAMES:
        target = TURNS / f"{name}.frames.jsonl"
        if not target.exists():
            frames, _ = await play(name)
            target.write_text("\n".join(written(frames)) + "\n")
            sys.stdout.write(f"{target.name}: {len(frames)} frames\n")


if __name__ == "__main__":
    asyncio.run(main())
