"""Graphs of many molecules at once, from the kinds of their atoms and bonds.

The features of a kind are asked of OGB at the first atom or bond of that kind, by way of `featurise_molecule`, which
also reads what RDKit's binary form does not tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from rdkit import Chem, rdBase

from policylearn.data.arrays import Array, DataError
from policylearn.data.binary_form import Forms
from policylearn.data.molecules import ATOM_FEATURES, BOND_FEATURES, MoleculeGraph, featurise_molecule


class KnownKinds:
    """The features of each kind of atoms (or of bonds) that is known so far.

    Args:
        width: features of each.
        dtype: of the features.
    """

    def __init__(self, width: int, dtype: type[np.integer]) -> None:
        self.rows: dict[int, bytes] = {}
        self.width, self.dtype = width, dtype
        self._tables()

    def learn(self, codes: Array, features: Array) -> None:
        """Remember features; an error where a kind that is known has others, as the form is not understood then."""
        for code, row in zip(codes.tolist(), features, strict=True):
            if self.rows.setdefault(code, row.tobytes()) != row.tobytes():
                raise RuntimeError(
                    f"RDKit {rdBase.rdkitVersion} writes molecules otherwise than is known here: two kinds of atoms or"
                    " bonds cannot be told apart; install rdkit 2026.9.1, and please report this"
                )
        self._tables()

    def _tables(self) -> None:
        self.codes = np.array(sorted(self.rows), dtype=np.int64)
        rows = b"".join(self.rows[code] for code in self.codes.tolist())
        self.features = np.frombuffer(rows, dtype=self.dtype).reshape(-1, self.width)

    def find(self, codes: Array) -> tuple[Array, Array]:
        """The features of these kinds, and which of the kinds are known; the features of others are any."""
        if not len(self.codes):
            return np.zeros((len(codes), self.width), self.dtype), np.zeros(len(codes), dtype=bool)
        at = np.searchsorted(self.codes, codes)
        np.minimum(at, len(self.codes) - 1, out=at)
        return self.features[at], self.codes[at] == codes


@cache
def known_kinds() -> tuple[KnownKinds, KnownKinds]:
    """Of atoms and of bonds, in this process."""
    return KnownKinds(ATOM_FEATURES, np.int16), KnownKinds(BOND_FEATURES, np.int8)


def featurise_molecules(molecules: Sequence[Chem.Mol]) -> Iterator[MoleculeGraph | DataError]:
    """What `featurise_molecule` gives for each molecule, or the error that it raises."""
    forms = Forms.of(molecules)
    x, atoms_known = known_kinds()[0].find(forms.atoms)
    bond_features, bonds_known = known_kinds()[1].find(forms.bonds)
    edge_attr = np.repeat(bond_features, 2, axis=0)
    unknown = ~forms.understood
    for ptr, known in ((forms.node_ptr, atoms_known), (forms.bond_ptr, bonds_known)):
        unknown[np.searchsorted(ptr, np.flatnonzero(~known), side="right") - 1] = True
    nodes, edges = forms.node_ptr.tolist(), (2 * forms.bond_ptr).tolist()
    for at, molecule in enumerate(molecules):
        own = slice(edges[at], edges[at + 1])
        if unknown[at]:
            yield _looked_up(forms, at, molecule, forms.edge_index[:, own])
        else:
            yield MoleculeGraph(x[nodes[at] : nodes[at + 1]], forms.edge_index[:, own], edge_attr[own])


def _looked_up(forms: Forms, at: int, molecule: Chem.Mol, edge_index: Array) -> MoleculeGraph | DataError:
    """The graph of a molecule with kinds that were unknown before this call: from then on they are known."""
    atom_kinds, bond_kinds = known_kinds()
    atoms, bonds = forms.kinds(at)
    if forms.understood[at]:  # one ahead of it may have been of the same kinds
        (x, atoms_known), (features, bonds_known) = atom_kinds.find(atoms), bond_kinds.find(bonds)
        if atoms_known.all() and bonds_known.all():
            return MoleculeGraph(x, edge_index, np.repeat(features, 2, axis=0))
    try:
        graph = featurise_molecule(molecule)
    except DataError as error:
        return error
    if forms.understood[at]:
        atom_kinds.learn(atoms, graph.x)
        bond_kinds.learn(bonds, graph.edge_attr[::2])
    return graph
