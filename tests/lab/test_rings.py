"""The tasks in which rings decide: targets of molecules whose rings are known, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem

from lab.__main__ import main
from lab.rings import TASKS, RingTask, ring_graphs
from policylearn.data import load_dataset


@pytest.mark.parametrize(
    ("smiles", "expected"),
    [
        ("CCO", {"molhiv-ring-size": (6,), "molhiv-joints": (0, 0)}),
        ("C1CCCCCCC1", {"molhiv-ring-size": (8,), "molhiv-joints": (0, 0)}),
        ("C1CCC2(CC1)CCCC2", {"molhiv-ring-size": (6,), "molhiv-joints": (1, 0)}),
        ("C1CC2CCC1C2", {"molhiv-ring-size": (6,), "molhiv-joints": (0, 2)}),
    ],
)
def test_targets_of_known_molecules(smiles: str, expected: dict[str, tuple[float, ...]]) -> None:
    assert {name: task.of(Chem.MolFromSmiles(smiles)) for name, task in TASKS.items()} == expected


def test_as_many_molecules_with_the_commonest_target_as_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    graphs = load_dataset("ogbg-molesol").graphs
    molecules = [Chem.MolFromSmiles(one) for one in graphs.smiles or ()]
    task = RingTask("ogbg-molesol", ("rings",), lambda one: (float(max(2, len(one.GetRingInfo().AtomRings()))),))
    monkeypatch.setitem(TASKS, "esol-rings", task)
    monkeypatch.setattr("lab.rings.VALIDATED", 50)
    monkeypatch.setattr("lab.rings.TESTED", 100)
    found = ring_graphs("esol-rings")
    monkeypatch.setattr("lab.verbs.rings.TASKS", ["esol-rings"])
    assert main(["rings", "-o", str(tmp_path)]) == 0
    np.testing.assert_array_equal(load_dataset(tmp_path / "esol-rings.npz").graphs.y, found.y)
    y = found.y.reshape(-1)
    commonest = np.median([task.of(one)[0] for one in molecules])
    assert (y == commonest).mean() == 0.5
    assert [len(found.extras[part]) for part in ("valid", "test")] == [50, 100]
    assert sorted(np.concatenate([found.extras[part] for part in ("train", "valid", "test")])) == list(range(len(y)))
    for row in (0, len(y) - 1):
        assert task.of(Chem.MolFromSmiles((found.smiles or ())[row])) == (y[row],)
