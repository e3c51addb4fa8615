"""Faults that data once had, each with the test that would find it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from policylearn.data import PackedGraphs
from policylearn.data.scaffolds import count_missing, scaffold, scaffold_split, with_rare_labels
from policylearn.data.splits import PARTS
from policylearn.settings.run_config import DataConfig
from policylearn.training import load_source
from tests.training.tiny import write_graphs

CARBON = ["C1CC1", "C1CCC1", "C1CCCC1", "C1CCCCC1", "C1CCCCCC1"]
RINGS = [*CARBON, "c1ccccc1", "c1ccncc1", "c1ccoc1", "c1ccsc1", "c1cc[nH]c1"]
MOLECULES = [f"{'C' * tail}{ring}" for ring in [*RINGS, *(f"{ring}C2CC2" for ring in RINGS)] for tail in range(1, 9)]


def rare_labels() -> np.ndarray:
    """Six of 160 are active, each with another core, all of them cores that the usual split trains on."""
    labels = np.zeros((len(MOLECULES), 1))
    for core in range(len(MOLECULES) // 8 - 6, len(MOLECULES) // 8):
        labels[8 * core] = 1
    return labels


def test_the_split_of_a_table_with_rare_classes_is_stratified_where_scaffolds_allow(tmp_path: Path) -> None:
    labels = rare_labels()
    usual = scaffold_split(MOLECULES)
    assert count_missing(usual, labels) > 0, "without rare labels in a part there is nothing to show"
    better = with_rare_labels(usual, MOLECULES, labels)
    assert count_missing(better, labels) == 0
    cores = [{scaffold(MOLECULES[row]) for row in getattr(better, part)} for part in PARTS]
    assert len(set.union(*cores)) == sum(map(len, cores)), "no core is in two parts"
    assert [len(getattr(better, part)) for part in PARTS] == pytest.approx([128, 16, 16], abs=8)
    path = tmp_path / "rare.csv"
    lines = [f"{smiles},{int(label)}" for smiles, label in zip(MOLECULES, labels[:, 0], strict=True)]
    path.write_text("smiles,active\n" + "\n".join(lines) + "\n")
    source = load_source(DataConfig(str(path), target=("active",)))
    assert np.array_equal(source.dataset.splits[0].test, better.test)
    assert "scaffolds are shared out by labels too" in source.split_note
    asked = load_source(DataConfig(str(path), target=("active",), split="scaffold"))
    assert np.array_equal(asked.dataset.splits[0].test, usual.test)
    assert asked.split_note == ""


def test_a_split_that_holds_every_label_stays(tmp_path: Path) -> None:
    usual = scaffold_split(MOLECULES)
    even = (np.arange(len(MOLECULES)) % 2)[:, None].astype(float)
    assert with_rare_labels(usual, MOLECULES, even) is usual


@pytest.mark.parametrize("node_level", [False, True])
def test_packed_regression_is_standardised_like_a_table(node_level: bool, tmp_path: Path) -> None:
    path = write_graphs(tmp_path / "tiny.npz", node_level=node_level)
    if not node_level:
        stored = PackedGraphs.load(path)
        replace(stored, y=stored.num_nodes[:, None].astype(np.float32)).save(path)
    dataset = load_source(DataConfig(str(path))).dataset
    graphs, train = dataset.graphs, dataset.splits[0].train
    rows = np.concatenate([np.arange(*graphs.node_ptr[g : g + 2]) for g in train]) if node_level else train
    scaling = dataset.task.scaling
    assert scaling is not None
    assert scaling.shift == pytest.approx([graphs.y[rows].mean()], rel=1e-5)
    assert scaling.scale == pytest.approx([graphs.y[rows].std()], rel=1e-5)
    assert dataset.task.metric_in_data_units
