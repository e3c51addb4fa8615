"""``python -m lab theory check`` and ``python -m lab theory wl``."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.__main__ import main
from lab.theory.checks import CHECKS, Check

PNG = b"\x89PNG\r\n\x1a\n"


def test_the_table_is_what_the_documentation_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["theory", "check", "--only", "figure-1", "vanishing"]) == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("| statement | function |")
    page = Path(__file__).parents[3] / "docs" / "theory.md"
    assert {*rows} < {*page.read_text(encoding="utf-8").splitlines()}
    assert len(rows) == 2


def test_a_check_that_fails_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(CHECKS, "vanishing", lambda: Check("a", "f", "p", "r", False))
    assert main(["theory", "check", "--only", "vanishing"]) == 1
    assert "FAILS" in capsys.readouterr().out


def test_an_unknown_check_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["theory", "check", "--only", "vanish"]) == 2
    assert "there is no check 'vanish'; did you mean 'vanishing'?" in capsys.readouterr().err


def test_figure_1_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figure1.png"
    assert main(["theory", "wl", "--csl", "13", "5", "3", "-o", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "CSL(13, 5), unmarked: classes of {13} nodes",
        "CSL(13, 3), unmarked: classes of {13} nodes",
        "CSL(13, 5), node 0 marked: classes of {1, 4, 4, 4} nodes",
        "CSL(13, 3), node 0 marked: classes of {1, 2, 2, 2, 2, 2, 2} nodes",
        str(path),
    ]
    assert path.read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--csl", "12", "2"], "CSL(12, 2): k must be coprime with n"),
        (["--csl", "13"], "needs the number of nodes and at least one skip"),
        (["--csl", "13", "5", "--root", "13"], "0 to 12"),
    ],
)
def test_bad_graphs_are_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["theory", "wl", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


SMALL = ["--channels=8", "--layers=2", "--calibration=1", "--test-graphs=5"]
QUICK = ["--n=8", "--components=1", "--steps=2", "--seeds=2", "--every=1", *SMALL]


def test_runs_are_made_once_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["theory", "learn", *QUICK, "--methods", "random", "reinforce", "-o", str(tmp_path / "runs")]
    assert main(words) == 0
    assert "(8, 1)" in capsys.readouterr().out
    files = sorted((tmp_path / "runs").glob("*.json"))
    assert [file.stem for file in files] == [
        f"csl-8-1-{method}-{seed}" for method in ("random", "reinforce") for seed in (0, 1)
    ]
    times = [file.stat().st_mtime_ns for file in files]
    figure = tmp_path / "curves.png"
    assert main([*words, "--figure", str(figure)]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[2].startswith("| (8, 1) | random | 1 |")
    assert len(table) == 4
    assert [file.stat().st_mtime_ns for file in files] == times
    assert figure.read_bytes().startswith(PNG)
    assert main(["theory", "results", str(tmp_path / "runs")]) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(table)
    assert main(["theory", "results", str(tmp_path)]) == 2
    assert "holds no runs" in capsys.readouterr().err
    assert main([*words, "--tau", "2.0"]) == 2
    assert "was run with tau=1.0, and tau=2.0 is wanted now" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--methods", "best"], "'method' must be one of"),
        (["--seeds", "0"], "'seeds' must be >= 1 (got 0)"),
        (["--n", "17", "--components", "5"], "a union takes 1 to 4 members"),
    ],
)
def test_runs_that_make_no_sense_are_one_line(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["theory", "learn", "--steps", "1", *words, "-o", str(tmp_path)]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert message in error
