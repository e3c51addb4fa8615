"""Count fingerprints of molecules: how often each substructure occurs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from rdkit import rdBase
from rdkit.Chem import rdFingerprintGenerator

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.structures import FINGERPRINT, Structure
from policylearn.data.transforms.base import Structures, Transform, register, smiles_needed
from policylearn.data.transforms.descriptors import read_molecule

BITS = 2048
"""Columns of each kind; substructures are folded into them."""
LARGEST_COUNT = 255
"""Counts are bytes."""


@register
@dataclass(frozen=True)
class Fingerprint(Transform):
    """Counts of substructures of each molecule, a row of bytes per graph, from its SMILES.

    Args:
        kinds: fingerprints side by side, each folded to `BITS` columns: ``morgan`` (circular, radius 2), ``feature``
            (the same of pharmacophore features), ``atom_pair``, ``torsion`` and ``path`` (up to five bonds).
        into: the structure that gets them.
    """

    name: ClassVar[str] = "fingerprint"
    kinds: tuple[str, ...] = ("morgan", "feature", "atom_pair", "torsion", "path")
    into: str = FINGERPRINT

    def __post_init__(self) -> None:
        if not self.kinds or not set(self.kinds) <= set(generators()):
            known, given = ", ".join(generators()), ", ".join(self.kinds)
            raise DataError(f"fingerprint: 'kinds' must be some of {known} (got {given or 'none'})")

    def code_version(self) -> str:
        """Other versions of RDKit may give other counts."""
        return f"{self.version} rdkit {rdBase.rdkitVersion}"

    def compute(self, graphs: PackedGraphs) -> Structures:
        """The counts, ``(G, kinds * BITS)`` uint8."""
        makers = [generators()[kind] for kind in self.kinds]
        counts = np.zeros((len(graphs), len(makers), BITS), dtype=np.uint8)
        with rdBase.BlockLogs():
            for row, text in enumerate(smiles_needed(graphs, self.name)):
                molecule = read_molecule(text, row)
                for kind, maker in enumerate(makers):
                    counts[row, kind] = np.minimum(maker.GetCountFingerprintAsNumPy(molecule), LARGEST_COUNT)
        return {self.into: Structure(counts.reshape(len(graphs), -1), "graph")}


@cache
def generators() -> dict[str, Any]:
    """RDKit's generators of fingerprints, by name."""
    features = rdFingerprintGenerator.GetMorganFeatureAtomInvGen()
    return {
        "morgan": rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=BITS),
        "feature": rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=BITS, atomInvariantsGenerator=features),
        "atom_pair": rdFingerprintGenerator.GetAtomPairGenerator(fpSize=BITS),
        "torsion": rdFingerprintGenerator.GetTopologicalTorsionGenerator(fpSize=BITS),
        "path": rdFingerprintGenerator.GetRDKitFPGenerator(maxPath=5, fpSize=BITS),
    }
