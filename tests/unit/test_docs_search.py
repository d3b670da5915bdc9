"""Searching pages by part: what is found, in which order, and what is shown of it."""

from assistants.docs_search import SNIPPET, Docs, Hit, Part, parts_of

GUIDE = """Intro before any heading.

# Crashes

A worker dies. The turn survives the crash: another worker goes on from the checkpoint.

```sh
# not a heading
kill -9 1
```

## Empty

## Leases ##

The lease lasts two seconds.
"""
DOCS = Docs({"guide.md": GUIDE, "other.md": "# Colours\n\nRed, green, blue."})
CRASHES = Part(
    path="guide.md",
    number=2,
    heading="Crashes",
    text="A worker dies. The turn survives the crash: another worker goes on from the checkpoint.\n\n"
    "```sh\n# not a heading\nkill -9 1\n```",
)


def test_a_page_is_cut_at_its_headings() -> None:
    assert parts_of("guide.md", GUIDE) == [
        Part(path="guide.md", number=1, heading="", text="Intro before any heading."),
        CRASHES,
        Part(path="guide.md", number=3, heading="Leases", text="The lease lasts two seconds."),
    ]


def test_the_best_part_comes_first_with_the_sentence_that_fits() -> None:
    """Inflected forms are the same word: surviving and survives, crashes and crash."""
    found = DOCS.search("How does a turn survive crashes?", 5)
    assert found == [Hit(CRASHES, "The turn survives the crash:")]


def test_a_heading_counts_more_than_the_text_below_another() -> None:
    docs = Docs({"a.md": "# One\n\nA lease, in passing, among many other words.", "b.md": "# Lease\n\nTwo seconds."})
    assert [hit.part.path for hit in docs.search("lease", 5)] == ["b.md", "a.md"]


def test_equal_parts_keep_the_order_of_the_pages_and_the_limit_holds() -> None:
    docs = Docs({f"{name}.md": "The same words." for name in "cab"})
    assert [hit.part.path for hit in docs.search("same words", 2)] == ["c.md", "a.md"]


def test_nothing_is_found_for_common_and_unknown_words() -> None:
    assert DOCS.search("what is the", 5) == []
    assert DOCS.search("zebra", 5) == []
    assert Docs({}).search("anything", 5) == []


def test_a_snippet_is_short() -> None:
    docs = Docs({"long.md": "word " * 500})
    assert len(docs.search("word", 1)[0].snippet) <= SNIPPET + 2
