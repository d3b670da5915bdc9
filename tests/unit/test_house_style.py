"""Rules of the house that no linter checks."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 300
OUR_LANGUAGES = {".py", ".js", ".lua", ".css", ".html", ".sh"}

# A key is "prefix:{run}:part": braces around a hash tag inside a string that goes on with a colon.
REDIS_KEY = re.compile(r"""["'f][^"'\n]*:\{[^"'\n]*\}:""")
ENVIRONMENT = re.compile(r"\bos\.(environ|getenv|putenv)\b|\bfrom os import .*\b(environ|getenv)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(root|home/\w+|work|Users/\w+|opt/(pypi|wheels))/")
REGISTRY = re.compile(r"https?://[\w.-]*(pypi|pythonhosted|npm|debian|golang)[\w.-]*|index-url")


def tracked() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = [name for name in listing.stdout.decode().split("\0") if name]
    return [path for name in names if (path := ROOT / name).is_file()]


def source_files(*, suffixes: set[str]) -> list[Path]:
    return [path for path in tracked() if path.suffix in suffixes and "vendor" not in path.parts]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def matching(pattern: re.Pattern[str], files: list[Path]) -> list[str]:
    """file:line of every match."""
    found = []
    for path in files:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            if pattern.search(line):
                found.append(f"{name(path)}:{number}")
    return found


def test_no_file_is_longer_than_three_hundred_lines() -> None:
    lengths = {name(path): len(path.read_text().splitlines()) for path in source_files(suffixes=OUR_LANGUAGES)}

    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def test_redis_keys_are_spelled_in_one_file() -> None:
    elsewhere = [path for path in source_files(suffixes={".py", ".lua"}) if name(path) != "resp/keys.py"]

    assert matching(REDIS_KEY, [path for path in elsewhere if path.parts[-2] != "unit"]) == []


def test_the_environment_is_read_in_one_file() -> None:
    ours = [
        path for path in source_files(suffixes={".py"}) if path.relative_to(ROOT).parts[0] not in {"tests", "bench"}
    ]

    assert {place.split(":")[0] for place in matching(ENVIRONMENT, ours)} <= {"app/settings.py"}


@pytest.mark.parametrize("pattern", [MACHINE_PATH, REGISTRY], ids=["path of a machine", "address of a registry"])
def test_nothing_tracked_names(pattern: re.Pattern[str]) -> None:
    files = [path for path in tracked() if path != Path(__file__) and "vendor" not in path.parts]

    assert matching(pattern, files) == []


def test_the_folders_have_the_names_that_readers_expect() -> None:
    expected = {"workflows", "activities", "api", "checkpoints", "tests", "docker-compose.yml", "pyproject.toml"}

    assert expected - {path.name for path in ROOT.iterdir()} == set()  # REQ-Y15
