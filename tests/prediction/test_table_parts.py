"""The parts of a table that Ray's workers answer, made here one after the other: joined, they are the whole table."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from policylearn.prediction import PredictOptions, load, predict_table
from policylearn.prediction.ray_table import PICKS, PartPredictor, TableParts
from policylearn.prediction.table_writer import columns_of, with_large_batches
from policylearn.settings.run_files import RunError
from tests.training.molecules import molesol, small_run, write_table


def test_parts_join_to_the_table(tmp_path: Path) -> None:
    smiles, values = molesol()
    table = write_table(tmp_path / "m.csv", ("smiles", "logS"), [*smiles[:1099], "C1CC"], values[:1100])
    run = small_run(tmp_path / "run", table, "logS", data={"on_error": "skip"}, fit={"epochs": 1})
    predictor, output = load(run), tmp_path / "parts.tsv"
    wanted = with_large_batches(predictor, PredictOptions(picks=True))
    parts = TableParts(run, table, "smiles", output, wanted, chunks=1)
    parts.begin()
    worker = PartPredictor(parts)
    for number, chunks in parts.read():
        packed = np.empty(1, dtype=object)
        packed[0] = pickle.dumps(chunks)
        worker({"part": np.array([number]), "chunks": packed})
    assert list(parts.read()) == [], "finished parts are not made again"
    with pytest.raises(RunError):
        TableParts(run, table, "smiles", output, PredictOptions(), chunks=1).begin()
    header = ["smiles", "logS"]
    joined = parts.join(header, columns_of(predictor, PICKS, wanted).names(header))
    assert joined == predict_table(predictor, table, tmp_path / "plain.tsv", wanted)
    assert (joined.rows, joined.failed) == (1100, 1)
    assert output.read_bytes() == (tmp_path / "plain.tsv").read_bytes()
    assert not parts.folder.exists()
