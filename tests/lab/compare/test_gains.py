"""The table of docs/picks.md is what the committed records give."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.__main__ import main
from lab.compare.gains import gains_table

PROJECT = Path(__file__).parents[3]


def test_the_page_has_the_figures_of_the_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    committed, page = PROJECT / "docs" / "picks.md", tmp_path / "picks.md"
    text = committed.read_text(encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    assert main(["gains", "--results", str(PROJECT / "results" / "compare"), "--page", str(page)]) == 0
    assert page.read_text(encoding="utf-8") == text, "run 'python -m lab gains'"
    assert capsys.readouterr().out.strip() in text


def test_figures_are_means_shares_and_paired_leads() -> None:
    table = gains_table(PROJECT / "results" / "compare").splitlines()
    zinc = next(line for line in table if "ZINC" in line).split(" | ")
    none, random, learned, full = (float(zinc[place].split()[0]) for place in (3, 4, 6, 7))
    assert full < learned < random < none
    share = float(zinc[6].split("(")[1].rstrip("%)")) / 100
    assert share == pytest.approx((none - learned) / (none - full), abs=0.006)
