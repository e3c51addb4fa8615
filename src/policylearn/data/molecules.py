"""Molecules as graphs: a SMILES becomes OGB's 9 atom and 3 bond features."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from rdkit import Chem, rdBase

from policylearn.data.packed import Array, DataError

ATOM_FEATURES = 9
BOND_FEATURES = 3
SHOWN_CHARACTERS = 80


@dataclass(frozen=True)
class MoleculeGraph:
    """One molecule as arrays; every bond stands twice, there and back, one after the other.

    Shapes:
        x ``(n, 9)``, edge_index ``(2, e)``, edge_attr ``(e, 3)``.
    """

    x: Array
    edge_index: Array
    edge_attr: Array


class FeatureRows:
    """OGB's ids of an atom or bond as bytes, asked of OGB once for each kind: it searches lists of words.

    ``look_up`` is OGB's own, from an RDKit atom or bond to a list of ids; ``kind_of`` gives all that it looks at.
    """

    def __init__(
        self, look_up: Callable[[Any], list[int]], kind_of: Callable[[Any], tuple[Any, ...]], dtype: type
    ) -> None:
        self.look_up, self.kind_of, self.dtype = look_up, kind_of, dtype
        self.known: dict[tuple[Any, ...], bytes] = {}

    def __getitem__(self, item: Any) -> bytes:
        kind = self.kind_of(item)
        if kind not in self.known:
            try:
                self.known[kind] = np.array(self.look_up(item), dtype=self.dtype).tobytes()
            except ValueError as error:
                raise DataError(
                    f"bond {item.GetIdx()} has the stereo label {item.GetStereo()}, which OGB's features do not know;"
                    " remove that label from the SMILES"
                ) from error
        return self.known[kind]


def kind_of_atom(atom: Any) -> tuple[Any, ...]:
    """What OGB's features of an atom depend on."""
    return (
        atom.GetAtomicNum(), atom.GetChiralTag(), atom.GetTotalDegree(), atom.GetFormalCharge(), atom.GetTotalNumHs(),
        atom.GetNumRadicalElectrons(), atom.GetHybridization(), atom.GetIsAromatic(), atom.IsInRing(),
    )  # fmt: skip


def kind_of_bond(bond: Any) -> tuple[Any, ...]:
    """What OGB's features of a bond depend on."""
    return bond.GetBondType(), bond.GetStereo(), bond.GetIsConjugated()


class FeatureTables(NamedTuple):
    """OGB's two look-ups, from an RDKit atom or bond to its ids, and how many ids each column can hold."""

    atoms: FeatureRows
    bonds: FeatureRows
    atom_sizes: tuple[int, ...]
    bond_sizes: tuple[int, ...]


@cache
def feature_tables() -> FeatureTables:
    """OGB's own feature tables, imported at the first molecule.

    ``import ogb`` asks the network for a newer version of itself when the package ``outdated`` is there. Reading a
    file must not call anyone, so that package is hidden while the tables load.
    """
    kept = sys.modules.get("outdated")
    sys.modules["outdated"] = None  # type: ignore[assignment]
    try:
        from ogb.utils import features
    finally:
        del sys.modules["outdated"]
        if kept is not None:
            sys.modules["outdated"] = kept
    return FeatureTables(
        FeatureRows(features.atom_to_feature_vector, kind_of_atom, np.int16),
        FeatureRows(features.bond_to_feature_vector, kind_of_bond, np.int8),
        tuple(features.get_atom_feature_dims()),
        tuple(features.get_bond_feature_dims()),
    )


def read_smiles(smiles: str) -> Chem.Mol:
    """The RDKit molecule of a SMILES, or a `DataError` with RDKit's own reason."""
    if not smiles.strip():
        raise DataError("the SMILES is empty; fill it in or leave the molecule out")
    if len(smiles.strip().splitlines()) > 1:
        raise DataError(f"SMILES {shown(smiles)} runs over several lines; give each molecule one without line breaks")
    try:
        with rdBase.BlockLogs():
            molecule = parse(smiles)
    except UnicodeEncodeError as error:
        raise DataError(f"SMILES {shown(smiles)} is not text ({error.reason}); use plain ASCII") from error
    core = re.split(r"[ \t]", smiles.strip())[0]
    if molecule is None or not core.isascii():  # RDKit drops such a letter without a word
        raise DataError(
            f"RDKit rejects the SMILES {shown(smiles)}: {rejection(smiles)};"
            " correct the SMILES or leave the molecule out"
        )
    if molecule.GetNumAtoms() == 0:
        raise DataError(f"SMILES {shown(smiles)} has no atoms; correct it or leave the molecule out")
    return molecule


def parse(smiles: str, *, sanitize: bool = True) -> Chem.Mol | None:
    """RDKit's molecule, or None where it rejects the SMILES (its type stubs forget the None)."""
    return Chem.MolFromSmiles(smiles, sanitize=sanitize)


def without_valence_check(smiles: str) -> Chem.Mol | None:
    """A molecule that fails RDKit's valence check alone, such as a few of OGB's; None for any other fault."""
    with rdBase.BlockLogs():
        molecule = parse(smiles, sanitize=False)
        if molecule is None:
            return None
        molecule.UpdatePropertyCache(strict=False)
        rules = Chem.SanitizeFlags.SANITIZE_ALL ^ Chem.SanitizeFlags.SANITIZE_PROPERTIES
        fault = Chem.SanitizeMol(molecule, rules, catchErrors=True)
    return molecule if fault == Chem.SanitizeFlags.SANITIZE_NONE else None


def rejection(smiles: str) -> str:
    """Why RDKit rejects ``smiles``, in its own words."""
    core = re.split(r"[ \t]", smiles.strip())[0]  # what follows a blank is a name or an extension
    foreign = next((sign for sign in core if not sign.isascii()), None)
    if foreign is not None:
        return f"{foreign!a} is no character of SMILES"
    # An older RDKit cannot hand its log to the caller: there, only the reason of a grammar mistake is lost.
    capture = getattr(rdBase, "CaptureErrorLog", None)
    with capture() if capture else rdBase.BlockLogs() as log:
        molecule = parse(core, sanitize=False)
    if molecule is None:
        return parser_reason(log.messages if capture else "")
    with rdBase.BlockLogs():
        return chemistry_problems(molecule) or f"it cannot read on after {shown(core)}"


def chemistry_problems(molecule: Chem.Mol | None) -> str:
    """What RDKit finds wrong with a molecule that was read without its checks; empty for nothing."""
    problems = [] if molecule is None else Chem.DetectChemistryProblems(molecule)
    reasons = "; ".join(dict.fromkeys(problem.Message() for problem in problems))
    return f"{reasons} (atoms count from 0)" if reasons else ""


def parser_reason(log: str) -> str:
    """The sentences of RDKit's log that say what is wrong, without clock, drawing and the SMILES itself."""
    reasons = []
    for line in log.splitlines():
        _, found, text = line.partition("SMILES Parse Error: ")
        if found and not text.startswith("Failed parsing"):
            reasons.append(text.split(" while parsing:")[0].split(" for input:")[0].rstrip(": "))
    return ", ".join(dict.fromkeys(reasons)) or "it breaks the grammar of SMILES"


def shown(text: str) -> str:
    """``text`` in quotes, cut where it would fill the screen, safe to print."""
    cut = text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."
    return ascii(cut) if any("\ud800" <= sign <= "\udfff" for sign in cut) else repr(cut)


def featurise_molecule(molecule: Chem.Mol) -> MoleculeGraph:
    """Graph of an RDKit molecule, atoms and bonds in RDKit's order."""
    tables = feature_tables()
    # Counting up is twice as fast as RDKit's own iterators.
    atoms = [tables.atoms[molecule.GetAtomWithIdx(at)] for at in range(molecule.GetNumAtoms())]
    ends: list[int] = []
    bonds: list[bytes] = []
    for at in range(molecule.GetNumBonds()):
        bond = molecule.GetBondWithIdx(at)
        features = tables.bonds[bond]
        start, end = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        ends += (start, end, end, start)
        bonds += (features, features)
    return MoleculeGraph(
        x=np.frombuffer(b"".join(atoms), dtype=np.int16).reshape(-1, ATOM_FEATURES),
        edge_index=np.array(ends, dtype=np.int64).reshape(-1, 2).T,
        edge_attr=np.frombuffer(b"".join(bonds), dtype=np.int8).reshape(-1, BOND_FEATURES),
    )


def featurise(smiles: str) -> MoleculeGraph:
    """Graph of a SMILES with OGB's features; a `DataError` says why a SMILES cannot be used."""
    return featurise_molecule(read_smiles(smiles))


def count_walks(molecule: Chem.Mol, longest: int) -> list[float]:
    """How many walks of 1, 2, ... ``longest`` bonds a molecule has."""
    adjacency = Chem.GetAdjacencyMatrix(molecule)
    walks, counts = np.ones(len(adjacency)), []
    for _ in range(longest):
        walks = adjacency @ walks
        counts.append(float(walks.sum()))
    return counts
