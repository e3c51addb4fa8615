"""Which SMARTS patterns a molecule cannot match, told from the kinds of its atoms and bonds alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from rdkit import Chem

LEAF = re.compile(r"(\w+) (-?\d+) (=|!=) val")


class AtomKind(NamedTuple):
    """What can be told of an atom without its neighbours."""

    number: int
    aromatic: bool
    charge: int
    isotope: int


@dataclass(frozen=True)
class Query:
    """A condition on an atom, as RDKit describes it; what is not understood may hold for any atom.

    Args:
        word: such as AtomAnd or AtomType.
        value: that is compared with; None where the condition is not understood.
        equal: whether it must be equal, or must not.
        parts: of AtomAnd and AtomOr.
    """

    word: str
    value: int | None = None
    equal: bool = True
    parts: tuple[Query, ...] = ()

    def may_hold(self, atom: AtomKind) -> bool:
        """Whether some atom of that kind may meet the condition."""
        if self.word == "AtomAnd":
            return all(part.may_hold(atom) for part in self.parts)
        if self.word == "AtomOr":
            return any(part.may_hold(atom) for part in self.parts)
        if self.value is None:
            return True
        known = {
            "AtomAtomicNum": atom.number,
            "AtomType": atom.number + 1000 * atom.aromatic,
            "AtomFormalCharge": atom.charge,
            "AtomIsotope": atom.isotope,
            "AtomIsAromatic": int(atom.aromatic),
            "AtomIsAliphatic": int(not atom.aromatic),
        }
        return self.word not in known or (known[self.word] == self.value) == self.equal


def read_query(description: str) -> Query:
    """The condition that RDKit's ``DescribeQuery`` writes as an indented tree."""
    lines = [line for line in description.splitlines() if line.strip()]
    query, _ = _read(lines, 0)
    return query


def _read(lines: Sequence[str], at: int) -> tuple[Query, int]:
    depth = _depth(lines[at])
    text = lines[at].strip()
    parts = []
    after = at + 1
    while after < len(lines) and _depth(lines[after]) > depth:
        part, after = _read(lines, after)
        parts.append(part)
    if text in ("AtomAnd", "AtomOr") and parts:
        return Query(text, parts=tuple(parts)), after
    leaf = LEAF.fullmatch(text)
    if leaf is None or parts:  # a negated group, say
        return Query("unknown"), after
    return Query(leaf[1], int(leaf[2]), leaf[3] == "="), after


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


class SmartsScreen:
    """Patterns of which those that cannot match are passed over.

    A pattern cannot match where one of its atoms fits no atom of the molecule, or where it has a double or triple bond
    and the molecule has none; a pattern that is nothing but a choice of environments of one atom, where none of these
    can. Molecules of the same kinds of atoms and bonds share the answer.

    Args:
        patterns: RDKit's queries.
    """

    def __init__(self, patterns: Sequence[Chem.Mol]) -> None:
        self.patterns = tuple(patterns)
        places: dict[Query, int] = {}
        self._ways = [[need_of(way, places) for way in environments(pattern)] for pattern in patterns]
        self._queries = tuple(places)
        self._met = cache(self._queries_met)
        self.possible = lru_cache(maxsize=10_000)(self._possible)

    def _queries_met(self, atom: AtomKind) -> int:
        """The queries that such an atom may meet, a bit for each."""
        return sum(1 << at for at, query in enumerate(self._queries) if query.may_hold(atom))

    def _possible(self, atoms: frozenset[AtomKind], orders: frozenset[int]) -> frozenset[int]:
        """The patterns that may match a molecule of such atoms and bonds, by position.

        Args:
            atoms: the kinds that there are.
            orders: 2 and 3 where there are double and triple bonds.
        """
        met = 0
        for atom in atoms:
            met |= self._met(atom)
        return frozenset(
            at
            for at, ways in enumerate(self._ways)
            if any(need & ~met == 0 and wanted <= orders for need, wanted in ways)
        )


def need_of(pattern: Chem.Mol, places: dict[Query, int]) -> tuple[int, set[int]]:
    """The queries of a pattern's atoms, a bit for each, and whether it has bonds of order 2 and 3.

    Args:
        pattern: one of RDKit's queries.
        places: the bit of each query; those that are new are added.
    """
    need = 0
    for atom in pattern.GetAtoms():
        need |= 1 << places.setdefault(read_query(atom.DescribeQuery()), len(places))
    return need, {bond_order(bond) for bond in pattern.GetBonds()} & {2, 3}


def environments(pattern: Chem.Mol) -> list[Chem.Mol]:
    """The patterns of which one must match: those within ``[$(...),$(...)]``, or the pattern itself."""
    text = Chem.MolToSmarts(pattern)
    if pattern.GetNumAtoms() != 1 or not (text.startswith("[$(") and text.endswith(")]")):
        return [pattern]
    depth, begin, found = 0, 0, []
    inner = text[1:-1]
    for at, sign in enumerate(inner):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and sign == ")":
            found.append(inner[begin : at + 1])
            begin = at + 2  # past the comma
            if inner[at + 1 : at + 4] not in ("", ",$("):
                return [pattern]  # other conditions, which this does not read
    read = [Chem.MolFromSmarts(one[2:-1]) for one in found]
    return [pattern] if any(one is None for one in read) else read


def bond_order(bond: Chem.Bond) -> int:
    """The order that a bond of a pattern must have; 0 where there are several."""
    leaf = LEAF.fullmatch(bond.DescribeQuery().strip())
    return int(leaf[2]) if leaf is not None and leaf[1] == "BondOrder" and leaf[3] == "=" else 0
