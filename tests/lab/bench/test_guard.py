"""A ratio that fell by more than a tenth is told of, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.bench import BenchReport, find_falls, speed_ratios
from lab.verbs.bench import last_record, say_falls

KEPT = Path(__file__).parents[3] / "results" / "bench" / "bench.json"


@pytest.fixture(scope="module")
def kept() -> BenchReport:
    return BenchReport.from_json(KEPT.read_text())


def slowed(report: BenchReport, case: str, phase: str, factor: float) -> BenchReport:
    """The record as if our model were slower in one case."""
    timings = [
        replace(t, ms=tuple(factor * ms for ms in t.ms))
        if (t.contender, t.case, t.phase) == ("ours", case, phase)
        else t
        for t in report.timings
    ]
    return replace(report, timings=tuple(timings))


def test_only_what_fell_is_named(kept: BenchReport) -> None:
    before = speed_ratios(kept)
    assert not find_falls(before, before)
    falls = find_falls(speed_ratios(slowed(kept, "learned-t2", "infer", 1.25)), before)
    assert falls
    assert all("inference, learned T=2" in fall.name for fall in falls)
    assert all(fall.share == pytest.approx(0.2) for fall in falls)
    assert not find_falls(speed_ratios(slowed(kept, "learned-t2", "infer", 1.1)), before)
    assert not find_falls(speed_ratios(slowed(kept, "learned-t2", "infer", 0.5)), before)


def test_ratios_are_those_of_the_tables(kept: BenchReport) -> None:
    ratios = speed_ratios(kept)
    assert ratios["zinc, training, learned T=2, rloo: speed over replicated"] == pytest.approx(2.91, abs=0.01)
    assert 1 / ratios["zinc, inference, full: products alone over ours"] == pytest.approx(1.02, abs=0.01)
    assert ratios["zinc, training, full: memory of replicated over ours"] == pytest.approx(1886 / 1012, abs=0.01)


def test_the_worst_comes_first_and_new_ratios_are_left_out() -> None:
    falls = find_falls({"a": 1.0, "b": 1.0, "new": 1.0}, {"a": 2.0, "b": 4.0, "gone": 9.0})
    assert [str(fall) for fall in falls] == ["b: 4.00 -> 1.00 (-75%)", "a: 2.00 -> 1.00 (-50%)"]


def test_the_command_says_it(kept: BenchReport, capsys: pytest.CaptureFixture[str]) -> None:
    say_falls(kept, kept)
    assert "fell by more than 10% since the record of" in capsys.readouterr().out
    say_falls(slowed(kept, "full", "train", 2), kept)
    assert "zinc, training, full: speed over replicated: 4.03 -> " in capsys.readouterr().out


def test_a_record_that_is_named_must_be_there(tmp_path: Path) -> None:
    assert last_record(None, tmp_path / "bench.json") is None
    assert last_record(KEPT, tmp_path / "bench.json") is not None
    with pytest.raises(ValueError, match=r"there is no such record; run 'python -m lab bench"):
        last_record(tmp_path / "nothing.json", tmp_path / "bench.json")
