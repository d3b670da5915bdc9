"""A conversation's title, where nothing better is known: how its first question begins."""

LONGEST = 60  # characters: one line of a list


def title_of(text: str) -> str:
    """The first line that says something, cut at a word."""
    line = next((words for words in map(str.split, text.splitlines()) if words), [])
    whole = " ".join(line)
    if len(whole) <= LONGEST:
        return whole
    head = whole[:LONGEST]
    return (head.rpartition(" ")[0] or head) + "…"
