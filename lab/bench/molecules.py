"""Molecules without end, none of them twice, in an order that is always the same.

First come those of ogbg-molhiv, moltox21, molbace and molesol that have up to 100 atoms of the usual organic elements
(chemprop stops at a molecule with a descriptor that is not finite), then the same with a hydrogen of one carbon atom
replaced by another group, again and again. Two are the same where RDKit gives them one canonical SMILES.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rdkit import Chem, rdBase

from policylearn.data import PackedGraphs, data_root

DATASETS = ("ogbg-molhiv", "ogbg-moltox21", "ogbg-molbace", "ogbg-molesol")
ELEMENTS = {6, 7, 8, 9, 16, 17, 35}
MOST_ATOMS = 100
GROUPS = ("F", "Cl", "C", "O", "N", "CC", "OC", "C#N", "C(F)(F)F", "C(C)=O", "C(N)=O", "S(C)(=O)=O", "C1CC1", "CO")
"""Each is bound by its first atom."""


def different_molecules(datasets: tuple[str, ...] = DATASETS) -> Iterator[str]:
    """The SMILES of molecules, each of which comes once."""
    texts: dict[str, None] = {}
    for name in datasets:
        texts |= dict.fromkeys(PackedGraphs.load(data_root() / f"{name}.npz").smiles or [])
    order = list(texts)
    np.random.default_rng(0).shuffle(order)
    known: dict[str, None] = {}
    with rdBase.BlockLogs():
        for text in order:
            molecule = Chem.MolFromSmiles(text)
            if usual(molecule) and (canonical := Chem.MolToSmiles(molecule)) not in known:
                known[canonical] = None
                yield text
    yield from with_other_groups(known)


def usual(molecule: Chem.Mol | None) -> bool:
    """Whether descriptors of a molecule are finite, as far as its atoms tell."""
    if molecule is None or not 2 <= molecule.GetNumAtoms() <= MOST_ATOMS:
        return False
    return all(atom.GetAtomicNum() in ELEMENTS for atom in molecule.GetAtoms())


def with_other_groups(known: dict[str, None]) -> Iterator[str]:
    """Molecules made from those that are known, round by round, and known from then on.

    Args:
        known: canonical SMILES.
    """
    draw = np.random.default_rng(1)
    groups = [Chem.MolFromSmiles(group) for group in GROUPS]
    while True:
        for text in list(known):
            molecule = Chem.MolFromSmiles(text)
            sites = [atom.GetIdx() for atom in molecule.GetAtoms() if may_change(atom)]
            if not sites:
                continue
            site, group = int(draw.choice(sites)), groups[int(draw.integers(len(groups)))]
            made = bound(molecule, site, group)
            canonical = Chem.MolToSmiles(made)
            if usual(made) and canonical not in known:
                known[canonical] = None
                yield canonical


def may_change(atom: Any) -> bool:
    """Whether an atom is a carbon with a hydrogen to spare, and none that a stereo label depends on."""
    plain = atom.GetAtomicNum() == 6 and atom.GetTotalNumHs() > 0 and atom.GetNumExplicitHs() == 0
    turned = any(bond.GetStereo() != Chem.BondStereo.STEREONONE for bond in atom.GetBonds())
    return bool(plain and not turned)


def bound(molecule: Chem.Mol, site: int, group: Chem.Mol) -> Chem.Mol:
    """A molecule with a group in place of a hydrogen of one of its atoms."""
    both = Chem.RWMol(Chem.CombineMols(molecule, group))
    both.AddBond(site, molecule.GetNumAtoms(), Chem.BondType.SINGLE)
    made = both.GetMol()
    Chem.SanitizeMol(made)
    return made
