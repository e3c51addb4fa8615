"""The table of docs/picks.md is what the committed records give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lab.__main__ import main
from lab.compare.gains import gains_table
from lab.compare.runner import load_records

PROJECT = Path(__file__).parents[3]


def test_the_page_has_the_figures_of_the_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    committed, page = PROJECT / "docs" / "picks.md", tmp_path / "picks.md"
    text = committed.read_text(encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    assert main(["gains", "--results", str(PROJECT / "results" / "compare"), "--page", str(page)]) == 0
    assert page.read_text(encoding="utf-8") == text, "run 'python -m lab gains'"
    assert capsys.readouterr().out.strip() in text


def test_figures_are_means_shares_and_paired_leads() -> None:
    """EXP, of which all methods have the same three folds, from its records."""
    records = load_records(PROJECT / "results" / "compare" / "exp")
    means = {
        name: np.mean([one.test for one in records if one.variant == name])
        for name in ("none", "random", "learned", "full")
    }
    cells = next(line for line in gains_table(PROJECT / "results" / "compare").splitlines() if "EXP" in line).split(
        " | "
    )
    assert cells[3] == f"{means['none']:.1%}"
    share = (means["random"] - means["none"]) / (means["full"] - means["none"])
    assert cells[4] == f"{means['random']:.1%} ({share:.0%})"
    assert f"{100 * (means['learned'] - means['random']):+.1f} ±" in cells[8]
