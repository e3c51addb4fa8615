"""RDKit's descriptors of a molecule, with what several of them need computed once.

RDKit computes each of its 2-D descriptors by itself, in part in Python: the electrotopological indices four times, the
characteristic polynomial twice, some two hundred patterns of which most cannot match. Here these parts are shared,
compiled or passed over; the values are RDKit's own, and a test holds them to that, bit for bit. A form of ours is used
only for the version of a descriptor that it was held against: for any other, RDKit's function is called.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

from policylearn.data.molecule_parts import Fragments, MoleculeParts, fragment_screen, outer_electrons
from policylearn.data.smarts_screen import SmartsScreen

# RDKit's type stubs leave these modules without types, and some names out.
Crippen: Any = import_module("rdkit.Chem.Crippen")
Descriptors: Any = import_module("rdkit.Chem.Descriptors")
EState: Any = import_module("rdkit.Chem.EState")
QED: Any = import_module("rdkit.Chem.QED")
entropy: Any = import_module("rdkit.ML.InfoTheory.entropy")

NEAREST = 100
"""Distances that tell atoms apart in `bertz`."""


def descriptor_names() -> list[str]:
    """RDKit's 2-D descriptors, in its order."""
    return [name for name, _ in Descriptors.descList]


def describe_molecule(molecule: Chem.Mol, names: Sequence[str]) -> list[float]:
    """The values of some descriptors; NaN where RDKit cannot compute one."""
    shared = MoleculeParts(molecule)
    forms = descriptor_forms()
    values = []
    for name in names:
        try:
            values.append(float(forms[name](shared)))
        except (ValueError, RuntimeError, ArithmeticError, LookupError, TypeError):
            values.append(math.nan)  # as RDKit's own CalcMolDescriptors does
    return values


def mean_information(parts: MoleculeParts) -> float:
    """Entropy of the coefficients of the characteristic polynomial."""
    return float(entropy.InfoEntropy(parts.polynomial))


def information(parts: MoleculeParts) -> float:
    """That entropy times their sum."""
    return float(sum(parts.polynomial) * entropy.InfoEntropy(parts.polynomial))


def balaban(parts: MoleculeParts) -> float:
    """Balaban's J: a sum over bonds of the ends' total distances."""
    total = parts.weighted_distances.sum(axis=0)
    bonds = sorted((start, end) for start, end, _ in parts.bonds)
    cycles = len(bonds) - len(total) + 1
    if cycles + 1 == 0:
        return 0.0
    added = 0.0
    for start, end in bonds:
        added += 1.0 / math.sqrt(total[start] * total[end])
    return len(bonds) / (cycles + 1) * added


def bertz(parts: MoleculeParts) -> float:
    """Bertz's complexity: entropy of the kinds of atoms and of the kinds of pairs of neighbouring bonds."""
    count = len(parts.atoms)
    if count < 2:
        return 0.0
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for start, end, order in parts.bonds:
        neighbours[start].append((end, order))
        neighbours[end].append((start, order))
    nearest = np.rint(np.sort(parts.weighted_distances, axis=1)[:, :NEAREST] * 1e4)
    seen: dict[bytes, int] = {}
    kind = [seen.setdefault(row.tobytes(), len(seen)) for row in nearest]
    pairs: dict[tuple[int, ...], float] = {}
    for atom, around in enumerate(neighbours):
        around.sort()
        for place, (one, order) in enumerate(around):
            if order > 1 and one > atom:
                key: tuple[int, ...] = (min(kind[atom], kind[one]), max(kind[atom], kind[one]))
                pairs[key] = pairs.get(key, 0) + order * (order - 1) / 2
            for other, second in around[place + 1 :]:
                key = (min(kind[one], kind[other]), kind[atom], max(kind[one], kind[other]))
                pairs[key] = pairs.get(key, 0) + order * second
    connections = list(pairs.values()) or [1]
    total = sum(connections)
    elements: dict[int, int] = {}
    for number in parts.numbers:
        elements[number] = elements.get(number, 0) + 1
    of_pairs = total * (entropy.InfoEntropy(np.array(connections, float)) + math.log(total) / math.log(2))
    return float(count * entropy.InfoEntropy(np.array(list(elements.values()), float)) + of_pairs)


def spacial_score(parts: MoleculeParts) -> float:
    """How much a molecule reaches into space, per heavy atom."""
    molecule = Chem.Mol(parts.molecule)
    Chem.FindPotentialStereoBonds(molecule)
    centres = Chem.FindMolChiralCenters(
        molecule, includeUnassigned=True, includeCIP=False, useLegacyImplementation=False
    )  # type: ignore[no-untyped-call]
    stereo = {atom for atom, _ in centres}
    for at, (start, end, order) in enumerate(parts.bonds):
        if order == 2 and molecule.GetBondWithIdx(at).GetStereo() != Chem.BondStereo.STEREONONE:
            stereo |= {start, end}
    kinds = {Chem.HybridizationType.SP: 1, Chem.HybridizationType.SP2: 2, Chem.HybridizationType.SP3: 3}
    score = 0
    for at, atom in enumerate(parts.atoms):
        ring = 2 if not atom.GetIsAromatic() and atom.IsInRing() else 1
        score += kinds.get(atom.GetHybridization(), 4) * (2 if at in stereo else 1) * ring * parts.degrees[at] ** 2
    return score / parts.molecule.GetNumHeavyAtoms()


@cache
def alert_screen() -> SmartsScreen:
    """The patterns of QED's structural alerts."""
    return SmartsScreen(QED.StructuralAlerts)


def drug_likeness(parts: MoleculeParts) -> float:
    """QED, of the molecule without explicit hydrogens."""
    bare = Chem.RemoveHs(parts.molecule)
    same = bare.GetNumAtoms() == len(parts.atoms)
    ring_atoms = Chem.DeleteSubstructs(Chem.Mol(bare), QED.AliphaticRings)
    screen = alert_screen()
    possible = screen.possible(*(parts.kinds if same else MoleculeParts(bare).kinds))
    properties = QED.QEDproperties(
        MW=Descriptors.MolWt(bare),
        ALOGP=parts.logp_and_refraction[0] if same else Crippen.MolLogP(bare),
        HBA=sum(len(bare.GetSubstructMatches(pattern)) for pattern in QED.Acceptors),
        HBD=rdMolDescriptors.CalcNumHBD(bare),
        PSA=rdMolDescriptors.CalcTPSA(bare),
        ROTB=rdMolDescriptors.CalcNumRotatableBonds(bare, rdMolDescriptors.NumRotatableBondsOptions.Strict),
        AROM=len(Chem.GetSSSR(ring_atoms)),
        ALERTS=sum(bare.HasSubstructMatch(screen.patterns[at]) for at in possible),
    )
    return float(QED.qed(parts.molecule, qedProperties=properties))


def root_sum(products: list[int]) -> float:
    """The sum of one over the square root, without zeros."""
    return float(sum(np.sqrt(1.0 / np.array([value for value in products if value], dtype=np.float64)).tolist()))


def fragment_form(name: str) -> Callable[[MoleculeParts], float]:
    """How often a fragment occurs."""

    def count(parts: MoleculeParts) -> float:
        screen, places = fragment_screen()
        at = places[name]
        if at not in parts.possible_fragments:
            return 0.0
        return len(parts.molecule.GetSubstructMatches(screen.patterns[at], uniquify=True))

    return count


Form = Callable[[MoleculeParts], float]

FORMS: dict[str, tuple[str, Form]] = {
    "AvgIpc": ("1.0.0", mean_information),
    "BalabanJ": ("1.0.0", balaban),
    "BertzCT": ("2.0.0", bertz),
    "Chi0": ("1.0.0", lambda parts: root_sum(parts.degrees)),
    "Chi1": (
        "1.0.0",
        lambda parts: root_sum([parts.degrees[start] * parts.degrees[end] for start, end, _ in parts.bonds]),
    ),
    "Ipc": ("1.0.0", information),
    "NumRadicalElectrons": ("1.1.0", lambda parts: sum(atom.GetNumRadicalElectrons() for atom in parts.atoms)),
    "NumValenceElectrons": (
        "1.1.0",
        lambda parts: sum(map(outer_electrons, parts.numbers)) - sum(parts.charges) + sum(parts.hydrogens),
    ),
    "SPS": ("1.0.0", spacial_score),
    "qed": ("1.1.0", drug_likeness),
    "MaxAbsEStateIndex": ("1.0.0", lambda parts: EState.MaxAbsEStateIndex(parts.with_states, force=False)),
    "MaxEStateIndex": ("1.0.0", lambda parts: EState.MaxEStateIndex(parts.with_states, force=False)),
    "MinAbsEStateIndex": ("1.0.0", lambda parts: EState.MinAbsEStateIndex(parts.with_states, force=False)),
    "MinEStateIndex": ("1.0.0", lambda parts: EState.MinEStateIndex(parts.with_states, force=False)),
}
"""Forms of ours, with the version of RDKit's descriptor that each was held against."""


@cache
def descriptor_forms() -> dict[str, Form]:
    """How each of RDKit's descriptors is computed."""
    found: dict[str, Form] = {}
    fragments = {name for name, _ in Fragments.fns}
    for name, function in Descriptors.descList:
        version, form = FORMS.get(name, ("", None))
        if form is not None and getattr(function, "version", None) == version:
            found[name] = form
        elif name in fragments:
            found[name] = fragment_form(name)
        elif surface := re.fullmatch(r"(PEOE_VSA|SMR_VSA|SlogP_VSA)(\d+)", name):
            found[name] = surface_form(surface[1], int(surface[2]) - 1)
        else:
            found[name] = rdkit_form(function)
    found["MolLogP"] = lambda parts: parts.logp_and_refraction[0]
    found["MolMR"] = lambda parts: parts.logp_and_refraction[1]
    return found


def surface_form(kind: str, place: int) -> Form:
    """One of a kind of surface areas."""
    return lambda parts: parts.surface(kind)[place]


def rdkit_form(function: Callable[[Chem.Mol], float]) -> Form:
    """RDKit's own function; those that ask for electrotopological indices find them there."""
    return lambda parts: function(parts.with_states)
