"""Lua scripts: what the server runs as one step.

A script is called by its hash and sent in full only where the server does not know it: after a restart or a failover its
cache is empty. Functions would survive that, but cost the same and have to be installed on every node.
"""

from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Script:
    """A script and the name the server knows it by."""

    source: bytes
    sha: str


def load_script(path: Path, *, flags: str = "") -> Script:
    """Read a script that lies beside the module that calls it. `flags` are the server's, such as "allow-oom"."""
    source = (f"#!lua flags={flags}\n".encode() if flags else b"") + path.read_bytes()
    return Script(source, sha1(source, usedforsecurity=False).hexdigest())
