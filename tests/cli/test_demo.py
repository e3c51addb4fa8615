"""The demo: it runs from nothing, is the same for the same seed, and leaves a page that shows its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from policylearn.cli import main
from tests.explain.chromium import browser_in


def test_it_prints_a_table_and_where_the_report_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--steps", "1", "-o", str(tmp_path)]) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    text = capsys.readouterr().out
    lines = {line.split("│")[1].strip(): line for line in text.splitlines() if "│" in line}
    assert lines.keys() == {"none", "random", "learned"}
    assert [cell.strip() for cell in lines["none"].split("│")[2:5:2]] == ["0", "0.0%"]
    assert "200 new graphs, 1 class in 4" in text
    assert "report.html" in text.replace("\n", "")


def test_the_page_shows_the_three_methods_side_by_side(tmp_path: Path) -> None:
    with browser_in(tmp_path / "profile") as browser:
        assert main(["demo", "--steps", "2", "--seed", "3", "-o", str(tmp_path / "demo")]) == 0
        browser.open(tmp_path / "demo" / "report.html")
        widths = browser.run("Array.from(document.querySelectorAll('.chart'), c => c.getBoundingClientRect().width)")
        assert [width > 200 for width in widths] == [True, True]
        assert browser.run("Array.from(document.querySelectorAll('.panel h3'), h => h.textContent)") == [
            "none",
            "random",
            "learned",
        ]
        marks = "Array.from(document.querySelectorAll('.panel'), p => p.querySelectorAll('.picked').length)"
        assert browser.run(marks) == [0, 1, 1]
        browser.run("document.getElementById('next').click(); document.getElementById('next').click()")
        assert browser.run(marks) == [0, 3, 3]
        assert browser.run("document.querySelectorAll('tbody tr').length") == 3
        assert browser.run("document.querySelectorAll('.panel')[1].textContent").count("of 3 rings") == 1


def test_no_steps_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--steps", "0", "-o", str(tmp_path)]) == 2
    assert "'steps' must be >= 1 (got 0)" in capsys.readouterr().err
