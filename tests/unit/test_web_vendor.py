"""What the page takes from others is what its README says it is."""

import hashlib
import re
from pathlib import Path

VENDOR = Path(__file__).parents[2] / "web" / "vendor"
ROW = re.compile(r"^\| `(?P<file>[^`]+)` .*`(?P<licence>[^`]+)` \| `(?P<hash>[0-9a-f]{64})` \|$", re.MULTILINE)


def test_vendored_files_are_the_published_ones() -> None:
    rows = [match.groupdict() for match in ROW.finditer((VENDOR / "README.md").read_text())]

    written = {row["file"]: row["hash"] for row in rows}
    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.glob("*.js")}
    assert written == there
    assert all((VENDOR / row["licence"]).is_file() for row in rows)
