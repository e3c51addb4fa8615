"""Tasks in which rings decide: ring sizes, spiro and bridgehead atoms of molhiv.

`python -m lab rings` writes each as a packed file, for ``lab/comparisons/rings.yaml``. RDKit computes the targets from
the SMILES that the datasets hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem import rdMolDescriptors

from policylearn.data import DataError, PackedGraphs, load_dataset
from policylearn.data.subset import take_graphs

USUAL_RING = 6
"""Largest rings of up to so many atoms count as one size."""
MOST_ATOMS = 50
"""Of a molecule of molhiv."""
TESTED, VALIDATED = 1000, 500


@dataclass(frozen=True)
class RingTask:
    """Targets of a dataset's molecules.

    Args:
        dataset: whose molecules they are.
        targets: their names.
        of: computes them.
    """

    dataset: str
    targets: tuple[str, ...]
    of: Callable[[Chem.Mol], tuple[float, ...]]


def largest(molecule: Chem.Mol) -> int:
    """Atoms of the largest ring of a smallest set of rings; 0 without rings."""
    return max(map(len, molecule.GetRingInfo().AtomRings()), default=0)


TASKS = {
    "molhiv-ring-size": RingTask("ogbg-molhiv", ("atoms",), lambda one: (float(max(USUAL_RING, largest(one))),)),
    "molhiv-joints": RingTask(
        "ogbg-molhiv",
        ("spiro", "bridgehead"),
        lambda one: (
            float(rdMolDescriptors.CalcNumSpiroAtoms(one)),
            float(rdMolDescriptors.CalcNumBridgeheadAtoms(one)),
        ),
    ),
}


@cache
def molecules(dataset: str) -> list[Chem.Mol | None]:
    """The molecules of a dataset in its order, None where RDKit cannot read one."""
    smiles = load_dataset(dataset).graphs.smiles
    if smiles is None:
        raise DataError(f"{dataset}: has no SMILES to compute rings from")
    with rdBase.BlockLogs():
        return [Chem.MolFromSmiles(one) for one in smiles]


def ring_graphs(name: str, seed: int = 0) -> PackedGraphs:
    """The graphs of a task with its targets and a split."""
    task, generator = TASKS[name], np.random.default_rng(seed)
    graphs, found = load_dataset(task.dataset).graphs, molecules(task.dataset)
    y = np.array([task.of(one) if one is not None else (np.nan,) * len(task.targets) for one in found])
    usable = np.flatnonzero(~np.isnan(y[:, 0]) & (graphs.num_nodes <= MOST_ATOMS))
    common = (y[usable] == np.median(y[usable], axis=0)).all(axis=1)
    rare = usable[~common]
    chosen = np.concatenate([rare, generator.choice(usable[common], len(rare), replace=False)])
    test, valid, train = np.split(generator.permutation(len(chosen)), [TESTED, TESTED + VALIDATED])
    parts = {"train": np.sort(train), "valid": np.sort(valid), "test": np.sort(test)}
    taken = take_graphs(replace(graphs, y=y.astype(np.float32)), chosen)
    return replace(taken, extras={**taken.extras, **parts, "y_names": np.array(task.targets)}).validate(name)
