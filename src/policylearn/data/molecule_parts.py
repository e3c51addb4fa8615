"""What several descriptors of one molecule are made from, each computed once."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numba import njit
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

from policylearn.data.arrays import Array
from policylearn.data.smarts_screen import AtomKind, SmartsScreen

# RDKit's type stubs leave these modules without types.
Fragments: Any = import_module("rdkit.Chem.Fragments")
Graphs: Any = import_module("rdkit.Chem.Graphs")

FAR = 1e6
"""RDKit's distance between atoms of different fragments is larger."""
LANES = 128
"""Numbers that numpy adds up in one go."""


class MoleculeParts:
    """What several descriptors of one molecule are made from, each computed when it is first asked for."""

    def __init__(self, molecule: Chem.Mol) -> None:
        self.molecule = molecule
        self._surfaces: dict[str, Sequence[float]] = {}

    @cached_property
    def atoms(self) -> list[Any]:
        """RDKit's atoms."""
        return [self.molecule.GetAtomWithIdx(at) for at in range(self.molecule.GetNumAtoms())]

    @cached_property
    def bonds(self) -> list[tuple[int, int, float]]:
        """Ends, the lower first, and order of each bond; 1.5 where it is aromatic."""
        found = []
        for at in range(self.molecule.GetNumBonds()):
            bond = self.molecule.GetBondWithIdx(at)
            ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            order = 1.5 if bond.GetIsAromatic() else bond.GetBondTypeAsDouble()
            found.append((min(ends), max(ends), order))
        return found

    @cached_property
    def numbers(self) -> list[int]:
        """Atomic numbers."""
        return [atom.GetAtomicNum() for atom in self.atoms]

    @cached_property
    def hydrogens(self) -> list[int]:
        """Of each atom."""
        return [atom.GetTotalNumHs() for atom in self.atoms]

    @cached_property
    def degrees(self) -> list[int]:
        """Bonds of each atom."""
        return [atom.GetDegree() for atom in self.atoms]

    @cached_property
    def charges(self) -> list[int]:
        """Formal charges."""
        return [atom.GetFormalCharge() for atom in self.atoms]

    @cached_property
    def distances(self) -> Array:
        """Bonds between atoms, ``(n, n)``."""
        found: Array = Chem.GetDistanceMatrix(self.molecule)
        return found

    @cached_property
    def weighted_distances(self) -> Array:
        """The same with bonds of higher order being shorter."""
        found: Array = Chem.GetDistanceMatrix(self.molecule, useBO=True, useAtomWts=False, force=True, prefix="Balaban")
        return found

    @cached_property
    def kinds(self) -> tuple[frozenset[AtomKind], frozenset[int]]:
        """The kinds of atoms that there are, and 2 and 3 where there are double and triple bonds."""
        atoms = {
            (number, atom.GetIsAromatic(), charge, atom.GetIsotope())
            for number, atom, charge in zip(self.numbers, self.atoms, self.charges, strict=True)
        }
        orders = frozenset(int(order) for _, _, order in self.bonds if order in (2, 3))
        return frozenset(AtomKind(*atom) for atom in atoms), orders

    @cached_property
    def possible_fragments(self) -> frozenset[int]:
        """Those of `fragment_screen` that may be there."""
        return fragment_screen()[0].possible(*self.kinds)

    @cached_property
    def polynomial(self) -> Array:
        """Sizes of the coefficients of the characteristic polynomial of the adjacency matrix, ``(n + 1,)``."""
        adjacency = self.distances == 1
        small = len(adjacency) <= LANES
        found = (
            characteristic_polynomial(adjacency) if small else Graphs.CharacteristicPolynomial(self.molecule, adjacency)
        )
        sizes: Array = np.abs(found)
        return sizes

    @cached_property
    def logp_and_refraction(self) -> tuple[float, float]:
        """Crippen's two sums over atoms, hydrogens included."""
        found: tuple[float, float] = rdMolDescriptors.CalcCrippenDescriptors(self.molecule)
        return found

    def surface(self, kind: str) -> Sequence[float]:
        """Surface areas by ranges of a property, such as PEOE_VSA."""
        if kind not in self._surfaces:
            self._surfaces[kind] = getattr(rdMolDescriptors, f"{kind}_")(self.molecule, force=False)
        return self._surfaces[kind]

    @cached_property
    def with_states(self) -> Chem.Mol:
        """The molecule with its electrotopological indices, where RDKit's own functions look for them."""
        # Should a later RDKit look elsewhere, it would compute them again, to the same values.
        self.molecule._eStateIndices = state_indices(self)
        return self.molecule


@cache
def outer_electrons(number: int) -> int:
    """Of an element."""
    return int(Chem.GetPeriodicTable().GetNOuterElecs(number))


@cache
def quantum_number(number: int) -> int:
    """The principal quantum number of an element, which is its row in the periodic table."""
    return 1 + sum(number > last for last in (2, 10, 18, 36, 54, 86))


def state_indices(parts: MoleculeParts) -> Array:
    """Hall, Mohney and Kier's index of each atom, ``(n,)``."""
    own = [
        (4.0 / quantum_number(number) ** 2 * (outer_electrons(number) - hydrogens) + 1) / degree if degree else 0.0
        for number, hydrogens, degree in zip(parts.numbers, parts.hydrogens, parts.degrees, strict=True)
    ]
    found: Array = perturbed(np.array(own, dtype=np.float64), parts.distances)
    return found


@njit(cache=True)  # type: ignore[untyped-decorator]
def perturbed(own: Array, distances: Array) -> Array:  # pragma: no cover - compiled
    """Each atom's own state with what all others do to it, added in RDKit's order."""
    count = len(own)
    moved = np.zeros(count)
    for i in range(count):
        for j in range(i + 1, count):
            away = distances[i, j] + 1
            if away < FAR:
                change = (own[i] - own[j]) / (away * away)
                moved[i] += change
                moved[j] -= change
    return moved + own


@njit(cache=True)  # type: ignore[untyped-decorator]
def characteristic_polynomial(adjacency: Array) -> Array:  # pragma: no cover - compiled
    """Le Verrier, Faddeev and Frame's recursion; a product with the adjacency matrix is a sum over neighbours.

    For up to 128 atoms, as far as `sum_in_lanes` goes.
    """
    count = len(adjacency)
    coefficients = np.zeros(count + 1)
    coefficients[0] = 1.0
    power = adjacency.astype(np.float64)
    product = np.empty((count, count))
    rows, columns = np.nonzero(adjacency)
    for step in range(1, count + 1):
        coefficient = 1.0 / step * sum_in_lanes(np.diag(power).copy())
        coefficients[step] = -coefficient
        for i in range(count):
            power[i, i] -= coefficient
        product[:] = 0.0
        for edge in range(len(rows)):
            target, source = product[rows[edge]], power[columns[edge]]
            for j in range(count):
                target[j] += source[j]
        power, product = product, power
    return coefficients


@njit(cache=True)  # type: ignore[untyped-decorator]
def sum_in_lanes(values: Array) -> float:  # pragma: no cover - compiled
    """The sum of up to 128 values in numpy's order of additions, which decides on the last digits."""
    count = len(values)
    total, at = 0.0, 0
    if count >= 8:
        lanes = values[:8].copy()
        at = 8
        while at + 8 <= count:
            lanes += values[at : at + 8]
            at += 8
        total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
    while at < count:
        total += values[at]
        at += 1
    return total


@cache
def fragment_screen() -> tuple[SmartsScreen, dict[str, int]]:
    """The patterns of RDKit's counts of fragments, and where each stands."""
    patterns = {name: inspect.signature(count).parameters["pattern"].default for name, count in Fragments.fns}
    return SmartsScreen(list(patterns.values())), {name: at for at, name in enumerate(patterns)}
