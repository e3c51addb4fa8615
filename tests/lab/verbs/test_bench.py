"""``python -m lab bench`` from its options to its files, on graphs and networks small enough for a test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from lab.__main__ import main
from lab.bench import BenchReport
from tests.training.tiny import write_graphs

SMALL = ["--rounds", "2", "--threads", "1", "--layers", "2", "--channels", "8", "--batch-size", "8", "--no-memory"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_graphs(tmp_path_factory.mktemp("bench") / "tiny.npz", 60))


def test_every_case_is_measured_and_kept(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    cases = ["learned-t2", "straight-t2", "random-t2", "full", "none"]
    words = ["bench", "--datasets", data, "--cases", *cases, *SMALL, "--growth-nodes", "1000", "-o", str(tmp_path)]
    assert main(words) == 0
    out = capsys.readouterr().out
    for text in ("learned T=2, straight_through", "exponent", str(tmp_path / "bench.json")):
        assert text in out
    report = BenchReport.from_json((tmp_path / "bench.json").read_text())
    assert all(len(timing.ms) == 2 and min(timing.ms) > 0 for timing in report.timings if not timing.note)
    assert {(t.case, t.phase) for t in report.timings if t.contender == "ours"} >= {(case, "train") for case in cases}
    assert [growth.family for growth in report.growth] == ["path", "grid", "sparse"]
    assert report.machine["threads"] == report.settings["threads"] == 1
    assert report.command.startswith("python -m lab bench --datasets")
    assert torch.get_num_threads() == threads
    assert main(words) == 0
    assert "ratios fell by more than" in capsys.readouterr().out


def test_systems_take_turns_with_the_policies(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--systems", "--datasets", data, "--cases", "random-t2", "pna", *SMALL]
    assert main(["bench", *words, "-o", str(tmp_path)]) == 0
    report = BenchReport.from_json((tmp_path / "systems.json").read_text())
    assert [(t.case, t.phase) for t in report.timings] == [
        ("random-t2", "train"), ("random-t2", "infer"), ("pna", "train"), ("pna", "infer"),
    ]  # fmt: skip
    assert all(len(timing.ms) == 2 and min(timing.ms) > 0 and timing.graphs == 8 for timing in report.timings)
    assert report.command.startswith("python -m lab bench --systems")
    assert "Random T=2" in capsys.readouterr().out


def test_json_alone_is_printed(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--json", "--datasets", data, "--cases", "none", *SMALL, "--growth-nodes", "0", "-o", str(tmp_path)]
    assert main(["bench", *words]) == 0
    out = capsys.readouterr().out
    assert json.loads(out) == json.loads((tmp_path / "bench.json").read_text())
    assert BenchReport.from_json(out).growth == ()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cases", "learnt-t2"], "there is no case 'learnt-t2'; did you mean 'learned-t2'?"),
        (["--rounds", "0"], "'rounds' must be >= 1 (got 0)"),
        (["--datasets", "zink"], "there is no dataset 'zink'; did you mean 'zinc'"),
        (["--datasets", "absent.npz"], "absent.npz"),
    ],
)
def test_bad_input_is_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *words]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert message in lines[-1]
    assert lines[-1].startswith("error: ")


def test_a_dataset_that_is_not_there_is_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POLICYLEARN_DATA", str(tmp_path))
    assert main(["bench", "--datasets", "sr25", *SMALL, "-o", str(tmp_path)]) == 2
    assert "dataset 'sr25' is not in the data root" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
