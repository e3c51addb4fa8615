"""``python -m lab bench`` from its options to its files, on graphs and networks small enough for a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.__main__ import main
from lab.bench.record import BenchReport
from tests.lab.bench.test_steps import InProcess
from tests.training.tiny import write_graphs

SMALL = ["--rounds", "2", "--threads", "1", "--layers", "2", "--channels", "8", "--batch-size", "8"]


@pytest.mark.parametrize("memory", [False, True])
def test_a_case_is_measured_and_kept(
    memory: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.bench.run.Worker", InProcess)
    data = str(write_graphs(tmp_path / "tiny.npz", 60))
    words = ["bench", "--datasets", data, "--cases", "none", *SMALL, "-o", str(tmp_path)]
    words += [] if memory else ["--no-memory"]
    assert main(words) == 0
    path = tmp_path / "bench.json"
    out = capsys.readouterr().out
    assert str(path) in out
    report = BenchReport.from_json(path.read_text())
    assert all(len(timing.ms) == 2 and min(timing.ms) > 0 and timing.graphs == 8 for timing in report.timings)
    assert len(report.timings) == 6
    assert all(timing.peak_bytes is not None for timing in report.timings) == memory
    assert report.machine["threads"] == report.settings["threads"] == 1
    assert report.command.startswith("python -m lab bench --datasets")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--cases", "learnt-t2"], "'learned-t2'"),
        (["--rounds", "0"], "'rounds' must be >= 1 (got 0)"),
        (["--datasets", "zink"], "'zinc'"),
        (["--datasets", "absent.npz"], "absent.npz"),
    ],
)
def test_bad_input_is_one_line(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *words]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert named in last
