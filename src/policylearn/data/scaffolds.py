"""The scaffold split: molecules with the same Bemis-Murcko core stay together, common cores train."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rdkit import Chem, rdBase

from policylearn.data.molecules import read_smiles, without_valence_check
from policylearn.data.packed import DataError
from policylearn.data.splits import Split, check_fractions


def scaffold_split(
    smiles: Sequence[str], fractions: tuple[float, float, float] = (0.8, 0.1, 0.1), source: str = "the molecules"
) -> Split:
    """OGB's scaffold split, recomputed from SMILES.

    Cores are taken from the most to the least common (ties: the one seen last first); a core goes to training while it
    fits there, else to validation while it fits there, else to test.

    Args:
        smiles: a molecule a graph.
        fractions: of training, validation and test; they sum to 1.
        source: for messages.
    """
    check_fractions(fractions)
    groups: dict[str, list[int]] = {}
    with rdBase.BlockLogs():
        for row, text in enumerate(smiles):
            groups.setdefault(scaffold(text, f"{source}, row {row}"), []).append(row)
    total = len(smiles)
    limits = (fractions[0] * total, (fractions[0] + fractions[1]) * total)
    train: list[int] = []
    valid: list[int] = []
    test: list[int] = []
    for group in sorted(groups.values(), key=lambda rows: (len(rows), rows[0]), reverse=True):
        if len(train) + len(group) <= limits[0]:
            train += group
        elif len(train) + len(valid) + len(group) <= limits[1]:
            valid += group
        else:
            test += group
    parts = (np.sort(np.array(part, dtype=np.int64)) for part in (train, valid, test))
    return Split(*parts).validate(total, f"{source}, scaffold split")


def scaffold(smiles: str, source: str = "the molecule") -> str:
    """The Bemis-Murcko core of a molecule as SMILES, with chirality; '' without rings.

    Args:
        smiles: the molecule; more bonds than a valence allows are let through, since molhiv and tox21 hold such.
        source: for messages.
    """
    molecule: Any = Chem.MolFromSmiles(smiles) or without_valence_check(smiles)
    if molecule is None or not molecule.GetNumAtoms():
        try:
            read_smiles(smiles)
        except DataError as error:
            raise DataError(f"{source}: {error}") from error
    core = Chem.MurckoDecompose(molecule)
    core.ClearComputedProps()
    core.UpdatePropertyCache(strict=False)
    Chem.GetSymmSSSR(core)
    return str(Chem.MolToSmiles(core, isomericSmiles=True))
