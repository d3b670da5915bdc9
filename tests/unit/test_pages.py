"""What the pages for people name is there: files, targets of make, commands."""

import re
from collections.abc import Iterator
from pathlib import Path

from app.__main__ import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "PROTOCOL.md", *sorted((ROOT / "docs").glob("*.md"))]
OURS = {path.name for path in ROOT.iterdir() if path.is_dir()}


def named(pattern: str) -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        if page.name != "requirements.md":  # made of the tests that there are
            yield from ((page, found) for found in re.findall(pattern, page.read_text()))


def test_every_target_of_make_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert {found for _, found in named(r"`make ([a-z-]+)")} - targets == set()


def test_every_command_is_there() -> None:
    assert {found for _, found in named(r"python -m app ([a-z]+)")} - COMMANDS.keys() == set()


def test_every_file_is_there() -> None:
    linked = [(page, page.parent / target) for page, target in named(r"\]\(([^)#:]+)(?:#[^)]*)?\)")]
    quoted = [(page, ROOT / path.partition(":")[0]) for page, path in named(r"`([a-z_]+/[\w./-]+(?::[\w.]+)?)`")]
    ours = [(page, path) for page, path in quoted if path.relative_to(ROOT).parts[0] in OURS]

    assert [f"{page.name}: {path}" for page, path in [*linked, *ours] if not path.exists()] == []
