"""The scaffold split: molecules with the same Bemis-Murcko core stay together, common cores train."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from rdkit import Chem, rdBase

from policylearn.data.molecules import read_smiles, without_valence_check
from policylearn.data.packed import Array, DataError
from policylearn.data.splits import PARTS, Split, check_fractions

FOLDS = 10
"""Of which one validates and one tests."""


def scaffold_split(
    smiles: Sequence[str], fractions: tuple[float, float, float] = (0.8, 0.1, 0.1), source: str = "the molecules"
) -> Split:
    """OGB's scaffold split, recomputed from SMILES.

    Cores are taken from the most to the least common (ties: the one seen last first); a core goes to training while it
    fits there, else to validation while it fits there, else to test.
    """
    check_fractions(fractions)
    groups = scaffold_groups(smiles, source)
    total = len(smiles)
    limits = (fractions[0] * total, (fractions[0] + fractions[1]) * total)
    found: tuple[list[int], ...] = [], [], []
    train, valid, test = found
    for group in sorted(groups.values(), key=lambda rows: (len(rows), rows[0]), reverse=True):
        if len(train) + len(group) <= limits[0]:
            train += group
        elif len(train) + len(valid) + len(group) <= limits[1]:
            valid += group
        else:
            test += group
    parts = (np.sort(np.array(part, dtype=np.int64)) for part in found)
    return Split(*parts).validate(total, f"{source}, scaffold split")


def scaffold_groups(smiles: Sequence[str], source: str = "the molecules") -> dict[str, list[int]]:
    """The rows of each core."""
    groups: dict[str, list[int]] = {}
    with rdBase.BlockLogs():
        for row, text in enumerate(smiles):
            groups.setdefault(scaffold(text, f"{source}, row {row}"), []).append(row)
    return groups


def with_rare_labels(split: Split, smiles: Sequence[str], labels: Array, source: str = "the molecules") -> Split:
    """A scaffold split whose parts hold more of the labels, where there is one; else the split as it is.

    Cores stay together. They are cut into ten folds with like shares of the labels, of which one validates and one
    tests: those that leave the fewest labels out of a part. ``labels`` ``(R, K)`` are NaN where they are not known.
    """
    missing = count_missing(split, labels)
    groups = scaffold_groups(smiles, source) if missing else {}
    if len(groups) < FOLDS:
        return split
    core = np.empty(len(smiles), dtype=np.int64)
    for number, rows in enumerate(groups.values()):
        core[rows] = number
    from sklearn.model_selection import StratifiedGroupKFold

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*least populated class.*")
        cut = StratifiedGroupKFold(FOLDS).split(core, rarest_labels(labels), core)
        folds = [held for _, held in cut]
    best = split
    for valid, test in itertools.permutations(range(FOLDS), 2):
        train = np.sort(np.concatenate([fold for number, fold in enumerate(folds) if number not in (valid, test)]))
        if not (len(train) and len(folds[valid]) and len(folds[test])):
            continue
        tried = Split(train, folds[valid], folds[test])
        found = count_missing(tried, labels)
        if found < missing:
            best, missing = tried, found
    return best.validate(len(smiles), f"{source}, scaffold split")


def count_missing(split: Split, labels: Array) -> int:
    """How often a label is in no row of a part, of those that there are three of at least."""
    missing = 0
    for column in labels.T:
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        for value in values[counts >= len(PARTS)]:
            missing += sum(not (column[getattr(split, part)] == value).any() for part in PARTS)
    return missing


def rarest_labels(labels: Array) -> Array:
    """One class per row: the rarest of its labels, over all columns; rows without any share one."""
    found = np.zeros(len(labels), dtype=np.int64)
    fewest = np.full(len(labels), len(labels) + 1)
    name = 0
    for column in labels.T:
        for value, count in zip(*np.unique(column[~np.isnan(column)], return_counts=True), strict=True):
            name += 1
            rows = (column == value) & (count < fewest)
            found[rows], fewest[rows] = name, count
    return found


def scaffold(smiles: str, source: str = "the molecule") -> str:
    """The Bemis-Murcko core of a molecule as SMILES, with chirality; '' without rings.

    More bonds than a valence allows are let through, since molhiv and tox21 hold such.
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
