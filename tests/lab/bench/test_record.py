"""What a record says of its raw times, and that it comes back from JSON as it was."""

from __future__ import annotations

from lab.bench.record import BenchReport, Timing, paired_ratio
from lab.bench.tables import report_markdown
from tests.errors import raises_naming


def timing(case: str, contender: str, ms: tuple[float, ...] = (), phase: str = "train", **more: object) -> Timing:
    return Timing("zinc", case, phase, contender, 128, ms, **more)


def report(*timings: Timing) -> BenchReport:
    return BenchReport(
        command="python -m lab bench",
        date="2026-01-01T00:00:00+00:00",
        machine={"processor": "a", "cores": 2},
        versions={"torch": "2"},
        commit="0123456" + 33 * "f" + " with changes",
        kernels="auto",
        load=(0.1, 1.9),
        settings={"threads": 1, "rounds": 3},
        timings=timings,
    )


OURS = report(
    timing("learned-t2", "ours", (30.0, 34.0, 32.0), peak_bytes=2**20),
    timing("learned-t2", "plain", (60.0, 51.0, 48.0)),
    timing("learned-t2", "replicated", (90.0, 68.0, 96.0), peak_bytes=3 * 2**20),
    timing("full", "ours", (50.0,)),
    timing("full", "replicated", note="not run: needs more than 40 GiB of memory"),
)


def test_a_record_comes_back_from_json_as_it_was() -> None:
    assert BenchReport.from_json(OURS.to_json()) == OURS
    with raises_naming(ValueError, "9", "format"):
        BenchReport.from_json(OURS.to_json().replace('"format": 2', '"format": 9'))


def test_ratios_are_taken_round_by_round() -> None:
    assert paired_ratio([2.0, 40.0, 6.0], [1.0, 10.0, 2.0]) == 3.0
    assert paired_ratio([2.0], [1.0, 100.0]) == 2.0


def test_the_tables_show_every_ratio_and_every_reason() -> None:
    text = report_markdown(OURS)
    learned = next(line for line in text.splitlines() if "learned T=2" in line)
    for figure in ("32 (31 to 33)", "51 (49.5 to 55.5)", "1.50", "90 (79 to 93)", "3.00"):
        assert figure in learned
    for part in (
        "more than 40 GiB",
        "commit 0123456 with changes",
        "load 0.1 before",
    ):
        assert part in text
