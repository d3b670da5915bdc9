"""docs/assistants.md as files: each block under the name that it begins with."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "assistants.md").read_text()


def blocks(language: str) -> list[str]:
    """The page's blocks in a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def written(folder: Path) -> dict[str, Path]:
    """Write the page's files into a folder. Their paths by name."""
    found = {}
    for text in blocks("python"):
        path = folder / text.partition("\n")[0].removeprefix("# ")
        path.write_text(text)
        found[path.name] = path
    turns = folder / "turns"
    turns.mkdir()
    found["stock.jsonl"] = turns / "stock.jsonl"
    found["stock.jsonl"].write_text(blocks("json")[0])
    return found
