"""What the peers on RDKit's 2-D descriptors share: the descriptors of a table, and the file of predictions.

Each such peer is a program of its own, which `peers` runs in the environment of ``lab/peers-requirements.txt``:
``python -m lab.tables.boosting TABLE KIND SEED FOLDER``. It writes ``FOLDER/val.csv`` and ``FOLDER/test.csv``,
one row of predictions per molecule, in the order of the table.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import Descriptors

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Peer = Callable[[Array, Array, Mask, str, int], Array]
"""Takes descriptors and targets of all rows, which of them to learn from, kind of task and seed; predicts every row."""


def describe(smiles: list[str]) -> Array:
    """All descriptors of all molecules; one that RDKit cannot compute, or that overflows, is NaN.

    Shapes:
        ``(rows, descriptors)``.
    """
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    table = [Descriptors.CalcMolDescriptors(molecule, missingVal=math.nan) for molecule in molecules]  # type: ignore[no-untyped-call]
    values = np.array([list(row.values()) for row in table], dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def run(peer: Peer) -> None:
    """Fit a peer on the table that the command line names, and write what it predicts."""
    table, kind, seed, folder = sys.argv[1:]
    with Path(table).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name not in ("smiles", "split")]
    split = np.array([row["split"] for row in rows])
    y = np.array([[float(row[name] or "nan") for name in names] for row in rows])
    predicted = peer(describe([row["smiles"] for row in rows]), y, split == "train", kind, int(seed))
    for part in ("val", "test"):
        np.savetxt(Path(folder) / f"{part}.csv", predicted[split == part], delimiter=",", header=",".join(names))
