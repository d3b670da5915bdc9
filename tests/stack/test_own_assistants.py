"""docs/assistants.md followed by the letter, over the embedded stack: file, look, run, ask."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.own_assistants import blocks, written
from tests.stack.embedded import ROOT, SECONDS, running_stack

pytestmark = [pytest.mark.timeout(180), pytest.mark.long]

LOOK, RUN, ASK = blocks("sh")


def exported(*scripts: str, folder: Path) -> dict[str, str]:
    """The settings that the page exports, in this folder."""
    found = dict(re.findall(r"^export (\w+)=(\S+)", "\n".join(scripts), re.MULTILINE))
    return {name: value.replace("$PWD", str(folder)) for name, value in found.items()}


def test_a_newcomers_tool_answers_on_the_embedded_stack(tmp_path: Path) -> None:
    files = written(tmp_path)
    settings = exported(LOOK, RUN, folder=tmp_path)
    assert settings["TURNKEEP_ASSISTANTS"] == str(files["orders.py"])
    command = LOOK.splitlines()[-1].replace(".venv/bin/python", sys.executable)
    looked = subprocess.run(
        ("bash", "-c", command), cwd=ROOT, env=settings, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (looked.returncode, looked.stdout.splitlines()[0]) == (0, "clerk: Order clerk"), looked.stderr

    with running_stack(tmp_path / "state", **settings) as stack:
        asked = subprocess.run(
            ("bash", "-c", ASK),
            env={"PATH": stack.environment["PATH"], "URL": stack.url},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        ).stdout
        there = stack.client.get("/api/assistant").json()

    frames: list[dict[str, Any]] = [json.loads(data) for data in re.findall(r"^data: (\{.*)$", asked, re.MULTILINE)]
    assert [frame["output"] for frame in frames if frame["type"] == "tool-output-available"] == [4]
    assert "".join(frame.get("delta", "") for frame in frames) == "There are 4 lamps."
    assert frames[-1] == {"type": "finish", "finishReason": "stop"}
    assert [one["name"] for one in there["assistants"]] == ["clerk", "demo"]


def test_a_wrong_file_refuses_the_start_in_one_line(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text('from assistants.definition import Assistant\none = Assistant(name="a b")\n')
    done = subprocess.run(
        (sys.executable, "-m", "app", "dev"),
        cwd=ROOT,
        env={"TURNKEEP_ASSISTANTS": str(wrong), "TURNKEEP_STATE_DIR": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert done.returncode == 78
    assert f"TURNKEEP_ASSISTANTS: {wrong}:2: " in done.stderr
    assert "Traceback" not in done.stderr
