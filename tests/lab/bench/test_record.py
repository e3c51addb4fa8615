"""What a record says of its raw times, that it comes back from JSON as it was, and what fell since the last one."""

from __future__ import annotations

import io
import json
from dataclasses import asdict

import pytest
from msgspec.structs import replace
from rich.console import Console

from lab.bench import BenchReport, BenchSettings, find_falls, make_tables, speed_ratios
from lab.bench.record import Growth, Timing, paired_ratio
from lab.bench.tables import report_markdown


def timing(case: str, contender: str, ms: tuple[float, ...] = (), **more: object) -> Timing:
    return Timing("zinc", case, "train", contender, 128, ms, **more)


REPORT = BenchReport(
    command="python -m lab bench",
    date="2026-01-01T00:00:00+00:00",
    machine={"processor": "a", "cores": 2},
    versions={"torch": "2"},
    commit="0123456" + 33 * "f" + " with changes",
    kernels="auto",
    load=(0.1, 1.9),
    settings=asdict(BenchSettings()),
    timings=(
        timing("learned-t2", "ours", (30.0, 34.0, 32.0), peak_bytes=2**20),
        timing("learned-t2", "plain", (60.0, 51.0, 48.0)),
        timing("learned-t2", "replicated", (90.0, 68.0, 96.0), peak_bytes=3 * 2**20),
        timing("full", "ours", (50.0,)),
        timing("full", "replicated", note="not run: would need about 40 GiB of memory, 20 are free"),
    ),
    growth=(Growth("path", 2, (10**4, 10**5, 10**6), ((1.0, 3.0, 2.0), (20.0,), (200.0,))),),
)


def test_a_record_comes_back_from_json_as_it_was() -> None:
    text = REPORT.to_json()
    assert BenchReport.from_json(text) == replace(REPORT, settings=json.loads(text)["settings"])
    with pytest.raises(ValueError, match="format 9"):
        BenchReport.from_json(json.dumps({"format": 9}))


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.7])
def test_the_exponent_of_a_power_is_found(exponent: float) -> None:
    sizes = (10**4, 3 * 10**4, 10**5, 10**6)
    assert Growth("path", 2, sizes, tuple((5.0 * n**exponent,) for n in sizes)).exponent == pytest.approx(exponent)


def test_ratios_are_taken_round_by_round() -> None:
    assert paired_ratio([2.0, 40.0, 6.0], [1.0, 10.0, 2.0]) == 3.0
    assert paired_ratio([2.0], [1.0, 100.0]) == 2.0


def test_the_tables_show_every_ratio_and_every_reason() -> None:
    console = Console(width=250, file=io.StringIO())
    for table in make_tables(REPORT):
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    for text in (console.file.getvalue(), report_markdown(REPORT)):
        learned = next(line for line in text.splitlines() if "learned T=2" in line)
        for figure in ("32 (31 to 33)", "51 (49.5 to 55.5)", "1.50", "90 (79 to 93)", "3.00"):
            assert figure in learned
        assert "would need about 40 GiB" in text
        assert "1.00" in text
    assert "commit 0123456 with changes" in report_markdown(REPORT)


def slowed(report: BenchReport, case: str, factor: float) -> BenchReport:
    """The record as if our model were slower in one case."""
    timings = [
        replace(t, ms=tuple(factor * ms for ms in t.ms)) if (t.contender, t.case) == ("ours", case) else t
        for t in report.timings
    ]
    return replace(report, timings=tuple(timings))


def test_only_what_fell_is_named() -> None:
    before = speed_ratios(REPORT)
    assert before == pytest.approx(
        {
            "zinc, training step, learned T=2: time of plain over ours": 1.5,
            "zinc, training step, learned T=2: time of replicated over ours": 3.0,
            "zinc, training step, learned T=2: memory of replicated over ours": 3.0,
        }
    )
    falls = find_falls(speed_ratios(slowed(REPORT, "learned-t2", 1.25)), before)
    assert [fall.share for fall in falls] == pytest.approx([0.2, 0.2])
    for factor in (1.0, 1.1, 0.5):
        assert not find_falls(speed_ratios(slowed(REPORT, "learned-t2", factor)), before)


def test_the_worst_comes_first_and_new_ratios_are_left_out() -> None:
    falls = find_falls({"a": 1.0, "b": 1.0, "new": 1.0}, {"a": 2.0, "b": 4.0, "gone": 9.0})
    assert [str(fall) for fall in falls] == ["b: 4.00 -> 1.00 (-75%)", "a: 2.00 -> 1.00 (-50%)"]
