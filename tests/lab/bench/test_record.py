"""What a record says of its raw times, and that it comes back from JSON as it was."""

from __future__ import annotations

from lab.bench.record import BenchReport, Timing, paired_ratio
from lab.bench.steps import NAMES, SYSTEM, title_of
from lab.bench.tables import report_markdown, system_rows
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


def test_systems_stand_beside_their_unit() -> None:
    rows = system_rows(
        report(
            timing("random-t2", SYSTEM, (10.0, 20.0), parameters=1234, peak_bytes=3 * 2**20),
            timing("random-t2", SYSTEM, (2.0, 2.0), "infer"),
            timing("sun", SYSTEM, (40.0, 60.0), parameters=527225),
            timing("sun", SYSTEM, phase="infer", note="not run: too many rows"),
            timing("ngnn", SYSTEM, (10.0, 20.0)),
            timing("ngnn", SYSTEM, (1.0, 1.0), "infer"),
        )
    )
    found = {row[0]: row[1:] for row in rows}
    assert found["Random T=2"] == ("1,234", "15 (12.5 to 17.5)", "1.00", "3", "2 (2 to 2)", "1.00", "")
    assert found[title_of("sun", NAMES)] == ("527,225", "50 (45 to 55)", "3.50", "", "not run: too many rows", "", "")
    assert f"{title_of('ngnn')} *" in found, "no settings of its own for ZINC"
