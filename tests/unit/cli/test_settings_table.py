"""The page of settings is what the program says."""

from pathlib import Path

from memstrata.cli.settings_table import markdown_page
from memstrata.settings import settings_table

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def test_the_page_in_docs_is_the_one_that_is_printed() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown_page()


def test_every_setting_has_its_row() -> None:
    rows = [line for line in markdown_page().splitlines() if line.startswith("| `")]
    assert len(rows) == len(settings_table())
    # A bar inside a cell would shift all that follow.
    assert {line.count("|") for line in rows} == {6}
