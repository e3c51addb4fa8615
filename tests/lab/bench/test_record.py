"""What a record says of its raw times, and that it comes back from JSON as it was."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, replace

import pytest
from rich.console import Console

from lab.bench import BenchReport, Growth, OverOnce, Settings, Timing
from lab.bench.paper import method_ratios
from lab.bench.record import fit_exponent, paired_ratio
from lab.bench.tables import make_tables


def timing(case: str, contender: str, ms: tuple[float, ...], **changes: object) -> Timing:
    base = Timing("zinc", case, "train", False, contender, None, 128, ms)
    return replace(base, **changes)  # type: ignore[arg-type]


REPORT = BenchReport(
    command="python -m lab bench",
    date="2026-01-01T00:00:00+00:00",
    machine={"processor": "a", "cores": 2},
    versions={"torch": "2"},
    commit="0",
    kernels="auto",
    load=(0.1, 1.9),
    settings=asdict(Settings()),
    timings=(
        timing("learned-t2", "ours", (30.0, 34.0, 32.0), estimator="straight_through", peak_bytes=2**20),
        timing("learned-t2", "limit", (15.0, 17.0, 20.0), estimator="straight_through"),
        timing("learned-t2", "replicated", (90.0, 68.0, 96.0)),
        timing("random-t2", "ours", (20.0, 17.0, 16.0)),
        timing("full", "ours", (50.0,)),
        timing("full", "replicated", (), note="not run: would need about 40 GiB of memory, 20 are free"),
    ),
    growth=(Growth("path", 2, (10**4, 10**5, 10**6), ((1.0, 3.0, 2.0), (20.0,), (200.0,))),),
    over_once=(OverOnce("grid", 5, 10**6, (12.0, 13.0), (10.0, 10.0)),),
)


def test_a_record_comes_back_from_json_as_it_was() -> None:
    assert BenchReport.from_json(REPORT.to_json()) == REPORT
    content = json.loads(REPORT.to_json())
    assert content["timings"][0]["median"] == 32.0
    assert content["timings"][0]["quartiles"] == [31.0, 33.0]
    assert content["growth"][0]["exponent"] == pytest.approx(1.0)
    assert content["over_once"][0]["ratio"] == pytest.approx(1.25)


def test_a_record_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="is of format 9, and this version reads 1"):
        BenchReport.from_json(json.dumps({"format": 9}))


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.7])
def test_the_exponent_of_a_power_is_found(exponent: float) -> None:
    sizes = [10**4, 3 * 10**4, 10**5, 10**6]
    assert fit_exponent(sizes, [5.0 * n**exponent for n in sizes]) == pytest.approx(exponent)


def test_ratios_are_taken_round_by_round() -> None:
    assert paired_ratio([2.0, 40.0, 6.0], [1.0, 10.0, 2.0]) == 3.0
    assert paired_ratio([2.0], [1.0, 100.0]) == 2.0


def test_the_papers_times_are_compared_as_ratios_between_methods() -> None:
    (ratio,) = [ratio for ratio in method_ratios(REPORT) if ratio.case == "learned-t2"]
    assert (ratio.table, ratio.base, ratio.phase) == ("zinc-timing", "random-t2", "train")
    assert ratio.paper == pytest.approx(2489.25 / 2114.00)
    assert ratio.ours == pytest.approx(2.0)
    assert ratio.replicated is None, "the replicated random policy was not measured"


def test_the_tables_show_every_ratio_and_every_reason() -> None:
    console = Console(width=250, file=io.StringIO())
    for table in make_tables(REPORT):
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    learned = next(line for line in text.splitlines() if "learned T=2, straight_through" in line)
    for figure in ("32 (31 to 33)", "90 (79 to 93)", "3.00 x", "17 (16 to 18.5)", "2.00 x"):
        assert figure in learned
    assert "not run: would need about 40 GiB of memory, 20 are free" in text
    assert "1.18" in text
