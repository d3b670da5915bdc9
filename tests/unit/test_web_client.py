"""The page's own modules, tested by Node's test runner: tests/web/*.test.mjs."""

import shutil
import subprocess
from pathlib import Path

import pytest

SUITES = sorted((Path(__file__).parents[1] / "web").glob("*.test.mjs"))


@pytest.mark.parametrize("suite", SUITES, ids=lambda path: path.name)
def test_a_suite_of_the_page_passes(suite: Path) -> None:
    node = shutil.which("node")
    assert node is not None, "the page's modules are tested with Node 20 or later, which is not there"

    ran = subprocess.run([node, "--test", str(suite)], capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stdout
