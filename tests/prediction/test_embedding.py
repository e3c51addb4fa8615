"""Vectors of graphs: what enters the head, the same in every format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import policylearn
from policylearn.cli import main
from policylearn.data import DataError
from policylearn.prediction.embedding import embed_file, graph_vectors, head_of
from policylearn.settings.run_files import RunError
from tests.training.molecules import molesol, read_table, small_run, write_table

SMILES = ["CCO", "not a molecule", "c1ccccc1O", "CCO"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = molesol()
    folder = tmp_path_factory.mktemp("embed")
    table = write_table(folder / "m.csv", ("smiles", "logS"), smiles[:60], values[:60])
    return small_run(folder / "run", table, "logS")


def test_the_head_makes_outputs_of_them(run: Path) -> None:
    predictor = policylearn.load(run)
    graphs = predictor.prepare(["CCO", "c1ccccc1O", "CCCCCl"])
    assert graphs is not None
    vectors = graph_vectors(predictor, graphs, batch_size=2)
    assert vectors.shape == (3, 8)
    with torch.inference_mode():
        outputs = head_of(predictor.model)(torch.from_numpy(vectors)).numpy()
    expected = predictor.predict(["CCO", "c1ccccc1O", "CCCCCl"])
    np.testing.assert_allclose(predictor.task.unscale(torch.from_numpy(outputs)), expected, rtol=1e-4, atol=1e-5)


def test_every_format_holds_the_same(run: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = write_table(tmp_path / "new.csv", ("name", "smiles"), "abcd", SMILES)
    for suffix in ("csv", "npy", "parquet"):
        assert main(["embed", str(run), str(table), "-o", str(tmp_path / f"v.{suffix}")]) == 1
    array, rows = np.load(tmp_path / "v.npy"), read_table(tmp_path / "v.csv")
    assert array.shape == (4, 8)
    assert np.isnan(array).all(axis=1).tolist() == [False, True, False, False]
    np.testing.assert_array_equal(array[0], array[3])
    assert [row["name"] for row in rows] == list("abcd")
    assert [bool(row["error"]) for row in rows] == [False, True, False, False]
    written = [[float(row[f"vector_{at}"]) for at in range(8)] for row in rows if not row["error"]]
    np.testing.assert_allclose(written, array[[0, 2, 3]], rtol=1e-7)
    columns = parquet.read_table(tmp_path / "v.parquet").to_pydict()
    assert columns["smiles"] == SMILES
    np.testing.assert_array_equal(np.array(columns["vector_7"], np.float32)[[0, 2, 3]], array[[0, 2, 3], 7])


def test_an_ensemble_gives_its_members_side_by_side() -> None:
    predictor = policylearn.load(Path(__file__).parent / "runs_of_0_2" / "ensemble")
    graphs = predictor.prepare(["CCO", "CCN"])
    assert graphs is not None
    both = graph_vectors(predictor, graphs)
    assert both.shape[1] % 2 == 0
    assert not np.array_equal(*np.split(both, 2, axis=1))


def test_what_cannot_be_written_is_said_first(run: Path, tmp_path: Path) -> None:
    table = write_table(tmp_path / "new.csv", ("smiles",), SMILES)
    with pytest.raises(DataError):
        embed_file(policylearn.load(run), table, tmp_path / "v.xlsx")
    with pytest.raises(RunError):
        head_of(torch.nn.Linear(2, 2))
