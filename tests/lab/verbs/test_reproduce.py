"""The whole chain from the command: run, find done, report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.__main__ import main
from lab.reproduce.plan import plan
from lab.reproduce.tables import TABLES
from lab.reproduce.wish import Wish
from lab.settings import open_ledger
from lab.verbs.reproduce import find_table
from policylearn.data.root import data_root

SMALL = ["--set", "prediction.channels=4", "prediction.layers=1", "fit.threads=1"]
needs_csl = pytest.mark.skipif(
    not (data_root() / "csl.npz").exists(), reason="csl.npz is not in the data root; set POLICYLEARN_DATA"
)


@needs_csl
def test_the_whole_chain_on_a_tiny_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results"
    words = ["reproduce", "expressivity", "--columns", "csl", "--rows", "learned-t2", "--seeds", "1", "--epochs", "1"]
    words += [*SMALL, "--results", str(results)]
    assert main(words) == 0
    told = capsys.readouterr()
    assert told.out.startswith("1 runs done, 0 were there")
    assert "over: csl Policy-learn T=2 fold 0, fold0-" in told.err, "a log shows each run when it is over"
    (path,) = results.glob("csl/learned-t2/fold0-*.json")
    record = json.loads(path.read_text())
    assert (record["number"], record["epochs"], record["paper_epochs"]) == (0, 1, 100)
    assert list(record["curve"]) == ["epoch", "loss", "valid", "test"]
    assert record["dataset"]["graphs"] == 150
    before = path.read_bytes()
    assert main([*words, "--report"]) == 0
    assert capsys.readouterr().out.startswith("0 runs done, 1 were there")
    assert path.read_bytes() == before
    text = (tmp_path / "RESULTS.md").read_text()
    assert "1 of 5 folds | 1 of 100 | reinforce, channels 4†, layers 1† | reduced budget |" in text
    assert record["command"] in text
    of_fold = ["--strata", "nodes:41", "--against", "learned-t2 reinforce"]
    assert main([*words, *of_fold]) == 2, "nothing to pair it with"
    assert "learned-t2 reinforce" in capsys.readouterr().err


@needs_csl
def test_a_run_of_another_process_is_not_called_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wish = Wish(rows=("gin",), columns=("csl",), seeds=1, epochs=1)
    (job,) = plan(find_table("expressivity", TABLES), wish)
    with open_ledger(tmp_path).claim(job):
        words = ["expressivity", "--rows", "gin", "--columns", "csl", "--seeds", "1", "--epochs", "1"]
        assert main(["reproduce", *words, "--results", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert f"another process is at it: {job.title}, {job.name}" in told.err
    assert "over:" not in told.err


def test_without_a_table_they_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--results", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("zinc-timing-cin", "expressivity", "molbace", "learned-t8"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["zink"], "there is no table 'zink'; did you mean 'zinc'?"),
        (["zinc", "--rows", "osan-t3"], "has no row 'osan-t3'; did you mean 'osan-t2'?"),
        (["zinc", "--set", "selection.tau"], "--set: 'selection.tau' is no KEY=VALUE"),
        (["zinc", "--rows", "learned-t2", "--set", "selection.tua=1"], "there is no setting 'selection.tua'"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *words, "--results", str(tmp_path)]) == 2
    text = capsys.readouterr().err
    assert message in text
    assert text.count("\n") == 1


def test_a_report_leaves_results_alone_without_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "RESULTS.md").write_text("what was measured\n")
    assert main(["reproduce", "--report", "--results", str(tmp_path / "nothing")]) == 2
    assert "holds no records" in capsys.readouterr().err
    assert (tmp_path / "RESULTS.md").read_text() == "what was measured\n"
