"""The molecule that matters of a salt: its largest organic part, in neutral form, by RDKit's own rules."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from rdkit import Chem, rdBase
from rdkit.Chem.MolStandardize import rdMolStandardize

from policylearn.data.molecules import read_smiles

PLACE = "place in the molecule as it was given"


class Parent(NamedTuple):
    """The parent of a salt or charged molecule."""

    smiles: str  # of the parent
    atoms: list[int]  # which atom of the given molecule each atom of the parent is


@cache
def tools() -> tuple[Any, Any]:
    """RDKit's choice of the largest organic part, and its removal of charges."""
    return rdMolStandardize.LargestFragmentChooser(preferOrganic=True), rdMolStandardize.Uncharger()


def parent_of(smiles: str) -> Parent | None:
    """The parent of a molecule; None where that is the molecule itself, as for most.

    Molecules without a part that holds carbon, such as sodium chloride, are left as they are.
    """
    if not any(sign in smiles for sign in ".+-"):
        return None
    molecule = read_smiles(smiles)
    for atom in molecule.GetAtoms():
        atom.SetIntProp(PLACE, atom.GetIdx())
    choose, uncharge = tools()
    with rdBase.BlockLogs():
        part = choose.choose(molecule)
        found = uncharge.uncharge(part)
        if Chem.MolFromSmiles(Chem.MolToSmiles(found)) is None:
            found = part  # a cyclopentadienyl anion, as in ferrocene, is no molecule without its charge
    same = found.GetNumAtoms() == molecule.GetNumAtoms() and all(
        one.GetFormalCharge() == other.GetFormalCharge()
        for one, other in zip(found.GetAtoms(), molecule.GetAtoms(), strict=True)
    )
    if same or not any(atom.GetAtomicNum() == 6 for atom in found.GetAtoms()):
        return None
    text = Chem.MolToSmiles(found)
    order = found.GetPropsAsDict(includePrivate=True, includeComputed=True)["_smilesAtomOutputOrder"]
    return Parent(text, [found.GetAtomWithIdx(at).GetIntProp(PLACE) for at in order])
