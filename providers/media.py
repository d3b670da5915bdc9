"""Which files a model can read. What it cannot is not sent: it is told that there was one."""

from typing import Final

_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_WITHOUT_DOCUMENTS: Final = ("claude-3-haiku", "claude-3-opus", "claude-3-sonnet")


def reads(model: str, media_type: str) -> bool:
    """Whether the model takes a file of this type as a block of its own."""
    name = model[max(0, model.find("claude-")) :]  # a cloud's name for it may begin with other words
    if not name.startswith("claude-"):
        return False
    return media_type in _IMAGES or not name.startswith(_WITHOUT_DOCUMENTS)
