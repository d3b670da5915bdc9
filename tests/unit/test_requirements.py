"""The list of requirements against the tests that quote them."""

from pathlib import Path

from app.requirements_doc import document, parts, quotes, unknown, unshown

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "requirements.md").read_text()

    up_to_date = written == document(ROOT)  # not inside the assert: pytest would print both pages
    assert up_to_date, "run: python -m app requirements"


def test_everything_that_is_due_is_shown_by_a_test_or_says_why_not() -> None:
    assert unshown(ROOT) == []


def test_every_test_that_the_list_names_is_there() -> None:
    assert unknown(ROOT) == []


def test_no_test_quotes_an_id_that_is_not_on_the_list() -> None:
    listed = {one.key for part in parts(ROOT) for one in part.requirements}

    assert set(quotes(ROOT)) - listed == set()


def test_a_quote_belongs_to_the_test_around_it(tmp_path: Path) -> None:
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "unit" / "test_a.py").write_text(PYTHON.replace("~", ""))
    (tmp_path / "tests" / "unit" / "b.test.mjs").write_text(JAVASCRIPT.replace("~", ""))

    assert quotes(tmp_path) == {
        key.replace("~", ""): [place]
        for key, place in {
            "FR~13": "unit/test_a.py",
            "P2": "unit/test_a.py: test_one",
            "rule C~5": "unit/test_a.py: test_one",
            "C~5": "unit/test_a.py: test_one",
            "A1": "unit/test_a.py",
            "T1": "unit/b.test.mjs: two",
        }.items()
    }


# Tildes keep these ids from counting as quoted by this file.
PYTHON = """
'''Of FR~13.'''

# LAW~-P2
def test_one() -> None:
    assert True  # C~5 and REQ~-C5


def helper() -> None:
    pass  # REQ~-A1
"""
JAVASCRIPT = """
test("two", () => {
  // REQ~-T1
});
"""
