"""Which molecules RDKit surely reads and describes quickly, decided by their graph."""

from __future__ import annotations

import numpy as np
from rdkit import Chem, rdBase

from policylearn.data.molecules import parse

MOST_CHARACTERS = 1000
MOST_ATOMS = 250
WALK_BONDS = 5
"""RDKit lists paths and connected parts of up to so many bonds."""
MOST_WALKS = 50_000
"""Walks of that length; drugs have some thousands, C60 has 15,000, seven metal atoms bonded to one another 54,000."""


def surely_quick(smiles: str) -> bool:
    """Whether a molecule has too few atoms and walks to keep RDKit busy for a second.

    Nothing is said of the others: most are quick as well. What is no SMILES is rejected at once, and so is quick.
    """
    if len(smiles) > MOST_CHARACTERS:
        return False
    molecule = read_graph(smiles)
    if molecule is None or molecule.GetNumAtoms() == 0:
        return True
    if molecule.GetNumAtoms() > MOST_ATOMS:
        return False
    adjacency = Chem.GetAdjacencyMatrix(molecule)
    walks = np.ones(len(adjacency))
    for _ in range(WALK_BONDS):
        walks = adjacency @ walks
    return bool(walks.sum() <= MOST_WALKS)


def least_atoms(smiles: str) -> int:
    """How many atoms a molecule has at least; 0 for one of several parts, of which only the largest may count."""
    molecule = None if "." in smiles else read_graph(smiles)
    return 0 if molecule is None else sum(atom.GetAtomicNum() > 1 for atom in molecule.GetAtoms())


def read_graph(smiles: str) -> Chem.Mol | None:
    """Atoms and bonds alone, which takes time in proportion to the text; None for what is no SMILES."""
    try:
        with rdBase.BlockLogs():
            return parse(smiles, sanitize=False)
    except UnicodeEncodeError:
        return None
