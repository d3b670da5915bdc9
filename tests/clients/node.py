"""Runs a script of tests/node as a client, in the folder whose packages it is to use."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.npm import NODE, environment, installed

SECONDS = 60

Major = Literal[6, 7]


@dataclass(frozen=True, slots=True)
class NodeClient:
    """A script and the packages it drives: those of version 6 of the SDK on the machine's Node, of 7 on Node 24."""

    script: str
    major: Major

    def version(self, package: str) -> str:
        """Which one it drives: as installed, not as asked for."""
        described = json.loads((self._folder / "node_modules" / package / "package.json").read_text())
        return str(described["version"])

    @property
    def _folder(self) -> Path:
        return NODE / f"sdk{self.major}"

    async def __call__(self, given: object) -> Any:
        """What the script prints for this argument: scripts of clients take scenarios and give how each ended."""
        newest = self.major == 7
        folder = await asyncio.to_thread(installed, self._folder)
        # By its standard input, so that the packages it imports are those of the folder.
        with (NODE / self.script).open() as script:
            process = await asyncio.create_subprocess_exec(
                "node", "--input-type=module", "-", json.dumps(given),
                cwd=folder, env=environment(newest=newest), stdin=script,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        try:
            async with asyncio.timeout(SECONDS):
                printed, failed = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, failed.decode()
        return json.loads(printed)
