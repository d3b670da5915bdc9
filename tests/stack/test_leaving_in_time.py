"""A process that is told to end, and in which something does not come to its end."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.temporal import temporal_server

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.parametrize("role", ["api", "worker"])
async def test_a_process_that_hangs_is_gone_after_its_grace_period(role: str, tmp_path: Path) -> None:
    """REQ-C12: nobody has to end it, and no turn waits for it."""
    with temporal_server(tmp_path) as temporal:
        environment = {
            "PATH": os.environ["PATH"],
            "TURNKEEP_TEMPORAL_ADDRESS": temporal.address,
            "TURNKEEP_DATABASE_URL": f"sqlite:///{tmp_path}/records.sqlite3",
            "TURNKEEP_STATE_DIR": str(tmp_path),
            "TURNKEEP_GRACE_MS": "0",
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.stack.hanging", role),
            cwd=ROOT,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            await process.stdout.readexactly(1)
            process.terminate()

            said = await process.stderr.read()
            assert (await process.wait(), b"did not end within the grace period" in said) == (1, True)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
