"""Molecules of OGB's datasets, none of them twice, in an order that is always the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rdkit import Chem, rdBase

from policylearn.data import PackedGraphs, data_root

DATASETS = ("ogbg-molhiv", "ogbg-moltox21", "ogbg-molbace", "ogbg-molesol")
ELEMENTS = {6, 7, 8, 9, 16, 17, 35}
"""The usual ones: chemprop stops at a molecule with a descriptor that is not finite."""
MOST_ATOMS = 100


def different_molecules(datasets: tuple[str, ...] = DATASETS) -> Iterator[str]:
    """The SMILES of molecules of the usual elements; two are the same where RDKit gives them one canonical SMILES."""
    texts: dict[str, None] = {}
    for name in datasets:
        texts |= dict.fromkeys(PackedGraphs.load(data_root() / f"{name}.npz").smiles or [])
    order, known = list(texts), set()
    np.random.default_rng(0).shuffle(order)
    with rdBase.BlockLogs():
        for text in order:
            molecule = Chem.MolFromSmiles(text)
            if molecule is None or not 2 <= molecule.GetNumAtoms() <= MOST_ATOMS:
                continue
            canonical = Chem.MolToSmiles(molecule)
            if canonical not in known and all(atom.GetAtomicNum() in ELEMENTS for atom in molecule.GetAtoms()):
                known.add(canonical)
                yield text
