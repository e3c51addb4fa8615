"""Tiny runs on real molecules: tables of molesol, and models small enough for tests."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from policylearn.data import PackedGraphs
from policylearn.settings import RunConfig, changed
from policylearn.training import load_source, train


def molesol() -> tuple[list[str], list[float]]:
    """SMILES and logS of all 1,128 molecules; skips where the data root is not there."""
    path = Path(os.environ.get("POLICYLEARN_DATA", "")) / "ogbg-molesol.npz"
    if not path.is_file():
        pytest.skip("ogbg-molesol.npz is not in the data root; set POLICYLEARN_DATA to the folder that holds it")
    graphs = PackedGraphs.load(path)
    assert graphs.smiles is not None
    return graphs.smiles, graphs.y[:, 0].tolist()


def write_table(path: Path, header: Sequence[str], *columns: Sequence[object]) -> Path:
    """A CSV of these columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *zip(*columns, strict=True)])
    return path


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV by column."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def small_run(folder: Path, source: Path, *targets: str, **changes: object) -> Path:
    """Train two epochs on ``source`` and give the run folder."""
    base = {
        "data": {"name": str(source), "target": list(targets)},
        "prediction": {"channels": 8, "layers": 2},
        "fit": {"epochs": 2, "batch_size": 16, "threads": 1},
    }
    config = changed(changed(RunConfig(), base), dict(changes))
    train(config, load_source(config.data), folder)
    return folder
