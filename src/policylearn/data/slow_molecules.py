"""Molecules that a training leaves out, as what it computes of them takes too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from policylearn.data.molecule_cost import surely_quick
from policylearn.data.packed import PackedGraphs
from policylearn.data.preparation import SECONDS, MoleculePool, PreparedMolecules
from policylearn.data.scaffolds import scaffold
from policylearn.data.transforms.base import Structures, Transform
from policylearn.data.transforms.descriptors import Descriptors
from policylearn.data.transforms.fingerprint import Fingerprint


def find_slow(smiles: Sequence[str], *, parents: bool, seconds: float = SECONDS) -> dict[int, str]:
    """Why molecules take too long, by position; only those that are not `surely_quick` are tried.

    Args:
        smiles: one per molecule.
        parents: as in `prepare_molecules`.
        seconds: time limit of one molecule.
    """
    unsure = [at for at, text in enumerate(smiles) if not surely_quick(text)]
    if not unsure:
        return {}
    with MoleculePool([AllOfRDKit()], 1, parents=parents, seconds=seconds) as pool:
        tried = {at: pool.submit_alone(smiles[at]) for at in unsure}
        found = {at: pool.complete([smiles[at]], PreparedMolecules(None, {}), {0: tried[at]}) for at in unsure}
    return {at: one.problems[0] for at, one in found.items() if one.problems}


@dataclass(frozen=True)
class AllOfRDKit(Transform):
    """Computes what a training may ask RDKit for, and keeps nothing of it."""

    name: ClassVar[str] = "all_of_rdkit"

    def compute(self, graphs: PackedGraphs) -> Structures:
        """No structures."""
        for transform in (Descriptors(), Fingerprint()):
            transform.compute(graphs)
        for text in graphs.smiles or ():
            scaffold(text)
        return {}
