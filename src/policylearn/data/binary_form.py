"""RDKit's binary form of molecules, read by compiled loops: the kind of each atom and bond, and which bonds there are.

RDKit hands out atoms and bonds one at a time, and asking each of them costs more than reading the SMILES; the binary
form holds the same in one piece. What is not known here is said to be not understood, never guessed: another version
of the form, queries, atom maps, molecules above 255 atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from rdkit import Chem

from policylearn.data.arrays import Array

BEGINNING = np.array([0xDEADBEEF, 0, 16, 4, 0], dtype="<u4").view(np.uint8)
"""Of the form that is known: a mark, and the version in three numbers."""
COUNTS = len(BEGINNING)
"""Where the numbers of atoms and bonds stand, four bytes each."""
FIRST_ATOM = COUNTS + 10
MOST_ATOMS = 255
"""In larger molecules, ids of atoms take more than a byte."""
FLAG, ATOMS, BONDS, RINGS = 0x80, 0x01, 0x0B, 0x42
"""What stands in front of the parts."""


@dataclass(frozen=True)
class Forms:
    """What the binary forms of some molecules say.

    Args:
        understood: of which molecules that is all.
        node_ptr: where the atoms of each start; one that is not understood has none.
        bond_ptr: where its bonds start.
        atoms: the kind of each atom.
        bonds: the kind of each bond.
        edge_index: each bond there and back.

    Shapes:
        understood ``(M,)``, node_ptr and bond_ptr ``(M + 1,)``, atoms ``(N,)``, bonds ``(B,)``, edge_index
        ``(2, 2 B)``.
    """

    understood: Array
    node_ptr: Array
    bond_ptr: Array
    atoms: Array
    bonds: Array
    edge_index: Array

    @staticmethod
    def of(molecules: Sequence[Chem.Mol]) -> Forms:
        """Those of RDKit's molecules."""
        forms = [molecule.ToBinary() for molecule in molecules]
        starts = np.zeros(len(forms) + 1, np.int64)
        starts[1:] = np.cumsum([len(form) for form in forms])
        return Forms(*read_forms(np.frombuffer(b"".join(forms), dtype=np.uint8), starts))

    def kinds(self, at: int) -> tuple[Array, Array]:
        """Those of a molecule's atoms and of its bonds."""
        nodes, bonds = (slice(ptr[at], ptr[at + 1]) for ptr in (self.node_ptr, self.bond_ptr))
        return self.atoms[nodes], self.bonds[bonds]


@njit(cache=True)
def whole_number(data, at):  # type: ignore[no-untyped-def]
    """The number in four bytes, the lowest first."""
    return data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24


@njit(cache=True)
def read_forms(data, starts):  # type: ignore[no-untyped-def]
    """The fields of `Forms`; the form of molecule m stands at ``starts[m]`` to ``starts[m + 1]``."""
    count = len(starts) - 1
    understood = np.zeros(count, np.bool_)
    node_ptr, bond_ptr = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    most = len(data)  # an atom takes six bytes at least, a bond three
    atoms, bonds, edge_index = (
        np.empty(most // 6, np.int64),
        np.empty(most // 3, np.int64),
        np.empty((2, most), np.int64),
    )
    for m in range(count):
        node, bond = node_ptr[m], bond_ptr[m]
        found = read_form(data[starts[m] : starts[m + 1]], atoms[node:], bonds[bond:], edge_index[:, 2 * bond :])
        understood[m] = found[0] >= 0
        node_ptr[m + 1], bond_ptr[m + 1] = node + max(found[0], 0), bond + max(found[1], 0)
    node, bond = node_ptr[count], bond_ptr[count]
    return understood, node_ptr, bond_ptr, atoms[:node].copy(), bonds[:bond].copy(), edge_index[:, : 2 * bond].copy()


@njit(cache=True)
def read_form(data, atoms, bonds, edge_index):  # type: ignore[no-untyped-def]
    """Fill in one molecule, and return how many atoms and bonds it has; -1 and -1 where it is not understood."""
    nothing = -1, -1
    if len(data) < FIRST_ATOM:
        return nothing
    for i in range(len(BEGINNING)):
        if data[i] != BEGINNING[i]:
            return nothing
    nodes, edges = whole_number(data, COUNTS), whole_number(data, COUNTS + 4)
    # Six bytes of an atom and three of a bond are read without a look at how many there are.
    if not 0 < nodes <= MOST_ATOMS or edges < 0 or FIRST_ATOM + 6 * nodes + 3 * edges + 6 > len(data):
        return nothing
    if data[FIRST_ATOM - 2] != FLAG or data[FIRST_ATOM - 1] != ATOMS:
        return nothing
    at = read_atoms(data, FIRST_ATOM, nodes, atoms)
    if at < 0 or at + 3 * edges + 6 > len(data) or data[at] != BONDS:
        return nothing
    degrees = np.zeros(nodes, np.int64)
    at = read_bonds(data, at + 1, edges, bonds, edge_index, degrees)
    if at < 0 or at + 5 > len(data) or data[at] != RINGS:
        return nothing
    rings = np.zeros(nodes, np.int64)
    if not read_rings(data, at + 1, rings):
        return nothing
    for node in range(nodes):
        if degrees[node] > 255:
            return nothing
        atoms[node] |= degrees[node] << 52 | rings[node] << 60
    return nodes, edges


@njit(cache=True)
def read_atoms(data, at, count, kinds):  # type: ignore[no-untyped-def]
    """Fill in the kinds of atoms, but for degree and ring, and return where they end; -1 where one is not understood.

    An atom is its number, flags, a list of what is said of it in four bytes, and one byte for each of these.
    """
    for atom in range(count):
        if at + 6 > len(data):
            return -1
        flags, said = data[at + 1], whole_number(data, at + 2)
        # Known flags are aromatic and "has no implicit hydrogens"; known words are formal charge, chirality,
        # hybridisation, explicit hydrogens, both valences, radical electrons and isotope.
        if flags & 0x9F or said & ~0x1FE or at + 17 > len(data):
            return -1
        kind = np.int64(data[at]) | np.int64(flags & 0x40) << 2
        at += 6
        hydrogens = np.int64(0)
        for word in range(1, 8):
            if not said & (1 << word):
                continue
            value = np.int64(data[at])
            at += 1
            if word == 1:  # charge
                kind |= value << 9
            elif word == 2:  # chirality
                kind |= (value & 0x0F) << 17 | np.int64(value > 0x0F) << 50
            elif word == 3:  # hybridisation; where it is not said it is sp3
                kind |= (value & 0x0F) << 21 | np.int64(value > 0x0F) << 50 | np.int64(1) << 25
            elif word == 4 or word == 6:  # hydrogens, explicit and implicit
                hydrogens += value
            elif word == 7:  # radical electrons
                kind |= value << 34
        if kind >> 50 or hydrogens > 127:
            return -1
        kinds[atom] = kind | hydrogens << 26
        if said & 0x100:  # isotope
            at += 4
    return at


@njit(cache=True)
def read_bonds(data, at, count, kinds, edge_index, degrees):  # type: ignore[no-untyped-def]
    """Fill in bonds and their kinds, count those of each atom, and return where they end; -1 as in `read_atoms`."""
    for bond in range(count):
        if at + 3 > len(data):
            return -1
        begin, end, flags = np.int64(data[at]), np.int64(data[at + 1]), data[at + 2]
        # Known flags are aromatic, conjugated, type, direction and stereo. Where no type is said it is single.
        if flags & 0x91 or begin >= len(degrees) or end >= len(degrees) or at + 8 > len(data):
            return -1
        kind = np.int64(flags & 0x20) << 11
        at += 3
        if flags & 0x08:
            kind |= np.int64(data[at]) | 1 << 17
            at += 1
        if flags & 0x04:
            at += 1
        if flags & 0x02:
            kind |= np.int64(data[at]) << 8
            at += 2 + np.int64(data[at + 1])  # the atoms that it is told by follow
        kinds[bond] = kind
        edge_index[0, 2 * bond] = edge_index[1, 2 * bond + 1] = begin
        edge_index[1, 2 * bond] = edge_index[0, 2 * bond + 1] = end
        degrees[begin] += 1
        degrees[end] += 1
    return at


@njit(cache=True)
def read_rings(data, at, inside):  # type: ignore[no-untyped-def]
    """Put a 1 to the atoms of rings; False where these are not understood."""
    count = whole_number(data, at)
    at += 4
    for _ in range(count):
        if at >= len(data):
            return False
        size = np.int64(data[at])
        if at + 1 + size > len(data):
            return False
        for i in range(size):
            atom = data[at + 1 + i]
            if atom >= len(inside):
                return False
            inside[atom] = 1
        at += 1 + size
    return True
