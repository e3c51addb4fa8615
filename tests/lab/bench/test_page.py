"""The tables in the documents are those of their records."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.bench.page import PAGE, write_page
from lab.pages import replace_between


def test_the_tables_are_made_from_the_records(tmp_path: Path) -> None:
    copy = tmp_path / "page.md"
    copy.write_text(PAGE.read_text())
    write_page(copy)
    assert copy.read_text() == PAGE.read_text(), "run python -m lab.bench.page"


def test_a_text_takes_its_place_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- x -->\nold\n<!-- /x -->\nbelow\n")
    replace_between(page, "<!-- x -->\n", "new\n", "<!-- /x -->")
    assert page.read_text() == "above\n<!-- x -->\nnew\n<!-- /x -->\nbelow\n"
    with pytest.raises(ValueError, match="<!-- y -->"):
        replace_between(page, "<!-- y -->", "new", "<!-- /y -->")
