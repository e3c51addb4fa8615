"""``python -m lab bench`` from its options to its files, on graphs and networks small enough for a test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from lab.__main__ import main
from lab.bench import BenchReport, ablation_markdown
from tests.training.tiny import write_graphs

PNG = b"\x89PNG\r\n\x1a\n"
SMALL = ["--rounds", "2", "--threads", "1", "--layers", "2", "--channels", "8", "--batch-size", "8", "--no-memory"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_graphs(tmp_path_factory.mktemp("bench") / "tiny.npz", 60))


def test_every_case_is_measured_and_kept(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    cases = ["learned-t2", "random-t2", "full", "none"]
    assert (
        main(["bench", "--datasets", data, "--cases", *cases, *SMALL, "--growth-nodes", "1000", "-o", str(tmp_path)])
        == 0
    )
    out = capsys.readouterr().out
    for text in ("learned T=2, straight_through", "learned T=2, rloo", "exponent", str(tmp_path / "bench.json")):
        assert text in out
    report = BenchReport.from_json((tmp_path / "bench.json").read_text())
    assert (tmp_path / "bench.png").read_bytes().startswith(PNG)
    assert all(len(timing.ms) == 2 and min(timing.ms) > 0 for timing in report.timings)
    usual = [timing for timing in report.timings if not timing.deterministic]
    train = [(t.case, t.contender, t.estimator, t.graphs) for t in usual if t.phase == "train"]
    assert train == [
        ("learned-t2", "ours", "straight_through", 8),
        ("learned-t2", "limit", "straight_through", 8),
        ("learned-t2", "ours", "rloo", 2),
        ("learned-t2", "limit", "rloo", 2),
        ("learned-t2", "replicated", None, 8),
        *[(case, who, None, 8) for case in cases[1:] for who in ("ours", "limit", "replicated")],
    ]
    infer = [(t.case, t.contender) for t in usual if t.phase == "infer"]
    assert infer == [(case, who) for case in cases for who in ("ours", "limit", "replicated")]
    assert {t.case for t in report.timings if t.deterministic} == {"learned-t2", "random-t2"}
    assert [growth.family for growth in report.growth] == ["path", "grid", "sparse"]
    assert [over.family for over in report.over_once] == ["path", "grid"]
    assert report.machine["threads"] == report.settings["threads"] == 1
    assert report.command.startswith("python -m lab bench --datasets")
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()


def test_the_ablation_takes_all_forms_in_turn(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    words = ["--ablation", "--datasets", data, "--cases", "learned-t2", "none", *SMALL, "--threads", "2"]
    assert main(["bench", *words, "-o", str(tmp_path)]) == 0
    assert torch.get_num_threads() == threads
    report = BenchReport.from_json((tmp_path / "ablation.json").read_text())
    assert all(len(timing.ms) == 2 and min(timing.ms) > 0 for timing in report.timings)
    measured = {(t.phase, t.case, t.contender, t.threads) for t in report.timings}
    forms = {"train": ("plain", "compiled"), "infer": ("plain", "compiled", "cones")}
    wanted = {(p, c, f, n) for p in forms for c in ("learned-t2", "none") for f in forms[p] for n in (1, 2)}
    assert measured == wanted - {("infer", "none", "cones", threads) for threads in (1, 2)}  # no mark, no cone
    rows = [line for line in ablation_markdown(report).splitlines() if line.startswith("| inference")]
    assert [line.split(" | ")[1:3] for line in rows] == [[c, n] for c in ("learned T=2", "none") for n in ("1", "2")]
    assert "plain PyTorch" in capsys.readouterr().out


def test_systems_take_turns_with_the_policies(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--systems", "--datasets", data, "--cases", "random-t2", "pna", *SMALL]
    assert main(["bench", *words, "-o", str(tmp_path)]) == 0
    report = BenchReport.from_json((tmp_path / "systems.json").read_text())
    assert [(t.case, t.phase) for t in report.timings] == [
        ("random-t2", "train"), ("random-t2", "infer"), ("pna", "train"), ("pna", "infer"),
    ]  # fmt: skip
    assert all(len(timing.ms) == 2 and min(timing.ms) > 0 and timing.graphs == 8 for timing in report.timings)
    assert report.command.startswith("python -m lab bench --systems")
    assert 0 < (report.processor_share or 0) <= 1.5
    assert "over Random T=2" in capsys.readouterr().out
    assert not (tmp_path / "bench.png").exists()


def test_two_measurements_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--systems", "--ablation"]) != 0
    assert "--ablation and --systems are two measurements" in capsys.readouterr().err


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
