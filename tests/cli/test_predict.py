"""``policylearn predict``: every row in its place, explained or predicted, and never half a file."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rdkit import Chem

from policylearn.cli import main
from policylearn.data import PackedGraphs
from policylearn.prediction import Answer, Predictor, load
from policylearn.prediction.table_reader import threads_beside
from policylearn.prediction.table_writer import PredictOptions, predict_table, usual_workers
from policylearn.settings.run_config import DataConfig
from policylearn.training import load_source
from policylearn.training.evaluation import torch_threads
from tests.training.molecules import molesol, read_table, small_run, write_table
from tests.training.tiny import write_graphs
from tests.warm import MAIN, WarmProcess

BROKEN = {
    "n,C1CC,1.5": "unclosed ring",
    "n,C(C)(C)(C)(C)C,1.5": "Explicit valence for atom # 0 C",
    "n,c1cccc1,1.5": "Can't kekulize mol",
    "n,CC(,1.5": "syntax error, check for mistakes around position 3",
    "n,CC),1.5": "extra close parentheses",
    "n,Xx,1.5": "syntax error",
    "n,hello world,1.5": "syntax error",
    "n,[C,1.5": "syntax error",
    "n,C#,1.5": "syntax error",
    "n,café,1.5": r"'\xe9' is no character of SMILES",
    "n,,1.5": "the SMILES is empty",
    "n, ,1.5": "the SMILES is empty",
    "n,CCO": "has 2 cells, the header 3",
    "n,CCO,1.5,2.5": "has 4 cells, the header 3",
    'n,"CCO"x,1.5': "not valid CSV",
    'n,"CC\nO",1.5': "runs over several lines",
    "n,C(C,1.5": "extra open parentheses",
}
"""Rows without a molecule, and the reason."""
WITHOUT_TARGET = ("n,CCO,", "n,CCO,abc", "n,CCO,1e99")
"""Rows that cannot be learnt from, but can be predicted on."""


def predict(*words: object) -> int:
    return main(["predict", *map(str, words)])


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A CSV of 1,000 rows, 20 of them broken, and its rows as text."""
    smiles, values = molesol()
    rows = [f"m{at},{text},{value}" for at, (text, value) in enumerate(zip(smiles, values, strict=True))][:980]
    for at, row in enumerate([*BROKEN, *WITHOUT_TARGET]):
        rows.insert(at * 50 + 7, row)
    path = tmp_path_factory.mktemp("thousand") / "m.csv"
    path.write_bytes("\n".join(["name,smiles,logS", *rows, ""]).encode())
    return path, rows


@pytest.fixture(scope="module")
def run(thousand: tuple[Path, list[str]]) -> Path:
    path, _ = thousand
    return small_run(path.parent / "run", path, "logS", data={"on_error": "skip"}, fit={"epochs": 2, "batch_size": 64})


def test_a_thousand_molecules_with_twenty_broken_rows(
    thousand: tuple[Path, list[str]], run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = thousand
    assert len(rows) == 1000
    source = load_source(DataConfig(str(path), ("logS",), on_error="skip"))
    assert source.report is not None
    assert len(source.report.dropped) == 20
    assert len(source.dataset) == 980

    output = tmp_path / "out.csv"
    assert predict(run, path, "-o", output, "--picks") == 1
    assert capsys.readouterr().out == (
        f"{output}: 983 of 1,000 rows predicted (predicted_logS, picked_atoms); 17 failed, column 'error' says why\n"
    )
    written = read_table(output)
    assert list(written[0]) == ["name", "smiles", "logS", "predicted_logS", "picked_atoms", "error"]
    assert len(written) == len(rows)
    line = 2
    for row, answer in zip(rows, written, strict=True):
        reason = BROKEN.get(row)
        if reason is None:
            assert f"{answer['name']},{answer['smiles']},{answer['logS']}" == row
            assert answer["error"] == ""
        else:
            assert answer["error"].startswith(f"line {line}: ")
            assert reason in answer["error"]
            assert [answer[name] for name in ("predicted_logS", "picked_atoms")] == ["", ""]
            if '"' not in row and row.count(",") == 2:
                assert f"{answer['name']},{answer['smiles']},{answer['logS']}" == row
        line += 1 + row.count("\n")

    good = [answer for answer in written if not answer["error"]]
    answer = load(run).answer([row["smiles"] for row in good])
    np.testing.assert_allclose([float(row["predicted_logS"]) for row in good], answer.values[:, 0], atol=1e-5)
    assert [list(map(int, row["picked_atoms"].split())) for row in good] == answer.picks


def test_molecules_are_read_from_every_kind_of_file(run: Path, tmp_path: Path) -> None:
    smiles = ["CCO", "c1ccccc1", "CC(=O)O"]
    blocks = [Chem.MolToMolBlock(Chem.MolFromSmiles(text)) for text in smiles]
    files = {
        "m.csv": "caf\xe9,SMILES\n" + "".join(f"caf\xe9,{text}\n" for text in smiles),
        "M.TSV": "Smiles\n" + "\n".join(smiles),
        "m.smi": "\n".join(f"{text} caf\xe9" for text in smiles),
        "m.sdf": "".join(f"{block}> <caf\xe9>\ncaf\xe9\n\n$$$$\n" for block in blocks),
    }
    answers = {}
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode("cp1252"))
        assert predict(run, tmp_path / name, "-o", tmp_path / "out.csv") == 0
        written = read_table(tmp_path / "out.csv")
        answers[name] = [float(row["predicted_logS"]) for row in written]
        assert name == "M.TSV" or "café" in written[2].values()
    assert len({tuple(np.round(found, 5)) for found in answers.values()}) == 1


def test_the_table_does_not_depend_on_the_batch_size(run: Path, tmp_path: Path) -> None:
    data = write_table(tmp_path / "m.tsv.csv", ("smiles",), molesol()[0][:100])
    columns = []
    for size in (1, 7, 512):
        assert predict(run, data, "-o", tmp_path / "out.csv", "--batch-size", size) == 0
        columns.append([float(row["predicted_logS"]) for row in read_table(tmp_path / "out.csv")])
    np.testing.assert_allclose(columns[1], columns[0], atol=1e-5)
    np.testing.assert_allclose(columns[2], columns[0], atol=1e-5)


def test_rows_stream_through(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policylearn.prediction.table_reader.CHUNK", 10)
    data = write_table(tmp_path / "m.csv", ("smiles",), molesol()[0][:300])
    output, seen = tmp_path / "out.csv", []

    def look(rows: int, position: int) -> None:
        assert not output.exists(), "the output appears when it is whole"
        seen.append((rows, position))

    written = predict_table(load(run), data, output, PredictOptions(batch_size=10), progress=look)
    assert (written.rows, written.failed) == (300, 0)
    assert [rows for rows, _ in seen] == list(range(10, 301, 10))
    assert seen[0][1] < 1000, "no more is read than is needed"
    assert seen[-1][1] == data.stat().st_size


def test_the_model_has_the_threads_that_reading_leaves() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        for workers, threads in ((1, 4), (2, 2), (3, 1), (16, 1)):
            with torch_threads(threads_beside(workers)):
                assert torch.get_num_threads() == threads
            assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(before)


def test_descriptors_are_read_with_all_cores(run: Path) -> None:
    predictor = load(run)
    facts = predictor.run.facts

    def workers(transforms: list[dict[str, object]], cores: int) -> int:
        own = replace(predictor, run=replace(predictor.run, facts=replace(facts, transforms=transforms)))
        return usual_workers(own, cores)

    assert [workers([{"name": "walk_encoding"}], cores) for cores in (1, 2, 4, 16)] == [1, 2, 2, 8]
    assert [workers([{"name": "descriptors"}], cores) for cores in (1, 2, 4, 16)] == [1, 2, 4, 16]


def test_several_processes_write_what_one_writes(
    thousand: tuple[Path, list[str]], run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policylearn.prediction.table_reader.CHUNK", 200)
    texts = []
    for workers in (1, 2):
        assert predict(run, thousand[0], "-o", tmp_path / "out.csv", "--workers", workers) == 1
        texts.append((tmp_path / "out.csv").read_text())
    assert texts[0] == texts[1]
    assert texts[0].count("unclosed ring") >= 1


def test_a_molecule_that_stands_there_twice_is_looked_at_once(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_table(tmp_path / "m.csv", ("smiles",), ["CCO", "CC", "C1CC", "CCO", "CC", "CCN"])
    counts = []
    plain = Predictor.answer_prepared

    def counting(self: Predictor, graphs: PackedGraphs, **options: Any) -> Answer:
        counts.append(len(graphs))
        return plain(self, graphs, **options)

    monkeypatch.setattr(Predictor, "answer_prepared", counting)
    assert predict(run, data, "-o", tmp_path / "out.csv", "--picks") == 1
    rows = read_table(tmp_path / "out.csv")
    assert counts == [3]
    assert [row["smiles"] for row in rows] == ["CCO", "CC", "C1CC", "CCO", "CC", "CCN"]
    for column in ("predicted_logS", "picked_atoms"):
        assert rows[0][column] == rows[3][column] != ""
        assert rows[1][column] == rows[4][column] != ""
    assert len({row["predicted_logS"] for row in rows}) == 4  # three molecules, and none for the broken one
    assert rows[2]["predicted_logS"] == "" != rows[2]["error"]


def test_answers_of_sorted_batches_are_in_order(run: Path) -> None:
    smiles = ["CCCCCCO", "C", "CCO", "CCCCCCCCCC", "CC"]
    predictor = load(run)
    whole = predictor.answer(smiles)
    cut = predictor.answer(smiles, batch_size=2)
    np.testing.assert_allclose(cut.values, whole.values, atol=1e-5)
    assert cut.picks == whole.picks


def test_a_killed_predict_leaves_no_half_file(run: Path, tmp_path: Path) -> None:
    data = write_table(tmp_path / "m.csv", ("smiles",), molesol()[0] * 30)
    output = tmp_path / "out" / "out.csv"
    output.parent.mkdir()
    output.write_text("what was there before\n")
    words = ["predict", run, data, "-o", output, "--batch-size", 8]
    process = WarmProcess(MAIN, *words, env=os.environ | {"OMP_NUM_THREADS": "1"})
    try:
        while not any(part.stat().st_size for part in output.parent.glob(".out.csv.*.part")):
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL
    assert output.read_text() == "what was there before\n"


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGTERM, 1), (signal.SIGINT, 1), (signal.SIGTERM, 2)])
def test_an_interrupted_predict_clears_up(
    number: signal.Signals,
    workers: int,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    data = write_table(tmp_path / "m.csv", ("smiles",), molesol()[0][:50])
    monkeypatch.setattr("policylearn.prediction.table_reader.CHUNK", 8)
    parts = []
    plain = Predictor.answer_prepared

    def interrupted(self: Predictor, *items: Any, **options: Any) -> Answer:
        if parts:
            os.kill(os.getpid(), number)
        parts.extend(tmp_path.glob(".out.csv.*.part"))
        return plain(self, *items, **options)

    monkeypatch.setattr(Predictor, "answer_prepared", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    # A process that was started in the background ignores Ctrl-C from the start.
    request.addfinalizer(partial(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT)))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(SystemExit) as stop:
        predict(run, data, "-o", tmp_path / "out.csv", "--workers", workers)
    assert stop.value.code == 128 + number
    assert not multiprocessing.active_children()
    assert len(parts) == 1, "it was at work"
    assert [file.name for file in tmp_path.iterdir()] == ["m.csv"]
    assert signal.getsignal(signal.SIGTERM) is before


def test_names_that_are_taken_get_a_number(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, first, second = tmp_path / "m.csv", tmp_path / "1.csv.gz", tmp_path / "2.tsv"
    data.write_text("SMILES;name;name\nCCO;a;b\n ;;\n\nC1;c;d\n")
    assert predict(run, data, "-o", first, "--smiles", "SMILES") == 1
    assert predict(run, first, "-o", second, "--smiles", "SMILES") == 1
    header, *rows = gzip.decompress(first.read_bytes()).decode().splitlines()
    assert header == "SMILES,name,name,predicted_logS,error"
    assert [row.split(",")[:3] for row in rows] == [["CCO", "a", "b"], [" ", "", ""], ["C1", "c", "d"]]
    header, *rows = second.read_text().splitlines()
    assert header == "SMILES\tname\tname\tpredicted_logS\terror\tpredicted_logS_2\terror_2"
    cells = [row.split("\t") for row in rows]
    assert [row[3] == row[5] for row in cells] == [True, True, True]
    assert "line 3: the SMILES is empty" in cells[1][4]
    assert "column 'error_2'" in capsys.readouterr().out


def test_a_table_without_rows_gives_one_without_rows(run: Path, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("smiles,name\n")
    assert predict(run, tmp_path / "m.csv", "-o", tmp_path / "out.csv") == 0
    assert (tmp_path / "out.csv").read_text() == "smiles,name,predicted_logS,error\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{run}", "{data}", "-o", "{data}"], "is the input itself"),
        (["{run}", "nowhere.csv", "-o", "{out}"], "nowhere.csv: cannot be opened"),
        (["{run}", "zinc", "-o", "{out}"], "zinc12k.npz"),
        (["nowhere", "{data}", "-o", "{out}"], "nowhere: no such run folder"),
        (["{run}", "{data}", "-o", "{out}", "--smiles", "smile"], "did you mean 'smiles'?"),
        (["{run}", "{data}", "-o", "{out}", "--batch-size", "0"], "'batch_size' must be >= 1"),
        (["{run}", "{data}", "-o", "{folder}"], "is a folder"),
        (["{run}", "{torn}", "-o", "{out}"], "a quote opens and never closes"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], message: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, torn = tmp_path / "m.csv", tmp_path / "torn.csv"
    data.write_text("smiles\nCCO\n")
    torn.write_text('smiles\nCCO\n"CC\n')
    names = {"run": run, "data": data, "torn": torn, "out": tmp_path / "out.csv", "folder": tmp_path}
    assert predict(*(word.format(**names) for word in words)) == 2
    captured = capsys.readouterr().err
    assert message in captured
    assert captured.count("\n") == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.csv", "torn.csv"]
    assert data.read_text() == "smiles\nCCO\n"


def test_classes_have_names_and_probabilities(tmp_path: Path) -> None:
    smiles, values = molesol()
    levels = ["low" if value < -3 else "mid" if value < -2 else "high" for value in values[:60]]
    toxic = ["yes" if value < -3 else "no" for value in values[:60]]
    data = write_table(tmp_path / "m.csv", ("smiles", "level", "toxic"), smiles[:60], levels, toxic)
    split = {"data": {"split": "random"}}
    classes = small_run(tmp_path / "classes", data, "level", **split)
    binary = small_run(tmp_path / "binary", data, "toxic", **split)
    assert predict(classes, data, "-o", tmp_path / "1.csv") == 0
    (row, *_) = read_table(tmp_path / "1.csv")
    probabilities = {name: float(row[f"probability_{name}"]) for name in ("high", "low", "mid")}
    assert sum(probabilities.values()) == pytest.approx(1, abs=1e-6)
    assert row["predicted_level"] == max(probabilities, key=probabilities.__getitem__)
    assert list(row)[-2:] == ["probability_mid", "error"]
    assert predict(binary, data, "-o", tmp_path / "2.csv") == 0
    rows = read_table(tmp_path / "2.csv")
    assert list(rows[0])[3:] == ["predicted_toxic", "probability_yes", "error"]
    assert all((row["predicted_toxic"] == "yes") == (float(row["probability_yes"]) >= 0.5) for row in rows)


@pytest.mark.parametrize("node_level", [False, True])
def test_packed_graphs(node_level: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_graphs(tmp_path / "g.npz", node_level=node_level)
    run = small_run(tmp_path / "run", data)
    graphs = PackedGraphs.load(data)
    expected = load(run).answer(graphs)
    foreign = graphs.x.copy()
    foreign[graphs.node_ptr[4]] += 100
    PackedGraphs(foreign, graphs.edge_index, graphs.edge_attr, graphs.node_ptr, graphs.edge_ptr, graphs.y).save(
        tmp_path / "foreign.npz"
    )
    assert predict(run, data, "-o", tmp_path / "out.csv", "--picks", "--batch-size", 7) == 0
    rows = read_table(tmp_path / "out.csv")
    name = f"predicted_{load(run).task.targets[0]}"
    assert list(rows[0]) == ["graph", *(["node"] if node_level else []), name, "picked_nodes", "error"]
    np.testing.assert_allclose([float(row[name]) for row in rows], expected.values[:, 0], atol=1e-5)
    sizes = graphs.num_nodes if node_level else np.ones(len(graphs), dtype=int)
    assert [int(row["graph"]) for row in rows] == np.repeat(np.arange(len(graphs)), sizes).tolist()
    assert all(row["picked_nodes"].split() == list(map(str, expected.picks[int(row["graph"])])) for row in rows)

    assert predict(run, tmp_path / "foreign.npz", "-o", tmp_path / "out.csv") == 1
    failed = [row for row in read_table(tmp_path / "out.csv") if row["error"]]
    assert {row["graph"] for row in failed} == {"4"}
    assert len(failed) == sizes[4]
    assert "graph 4: 'x' column 0 holds category" in failed[0]["error"]
    capsys.readouterr()
    (tmp_path / "m.csv").write_text("smiles\nC\n")
    assert predict(run, tmp_path / "m.csv", "-o", tmp_path / "other.csv") == 2
    assert "cannot read molecules; give a packed .npz" in capsys.readouterr().err


def test_paper_mode_is_announced_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smiles, values = molesol()
    data = write_table(tmp_path / "m.csv", ("smiles", "logS"), smiles[:60], values[:60])
    run = small_run(tmp_path / "run", data, "logS", selection={"mode": "paper"})
    assert predict(run, data, "-o", tmp_path / "1.csv") == 0
    assert predict(run, data, "-o", tmp_path / "2.csv", "--batch-size", 3) == 0
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert capsys.readouterr().err.count("depends on the other graphs of its batch") == 2
    assert main(["info", str(run)]) == 0
    assert "mode paper" in (shown := capsys.readouterr().out)
    assert "depends on the other graphs of its batch" in shown
