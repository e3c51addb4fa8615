"""A peer: RDKit's 2-D descriptors and scikit-learn's HistGradientBoosting with its defaults.

`peers` runs it in the environment of ``lab/peers-requirements.txt``: ``python -m lab.tables.boosting TABLE KIND SEED
FOLDER`` writes ``FOLDER/val.csv`` and ``FOLDER/test.csv``, one row of predictions per molecule, in the order of the
table. It draws nothing at random here, so on one split all seeds agree.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import Descriptors
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor


def describe(smiles: Iterable[str]) -> NDArray[np.float64]:
    """All descriptors of all molecules, ``(rows, descriptors)``; one that RDKit cannot compute is NaN."""
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    table = [Descriptors.CalcMolDescriptors(molecule, missingVal=math.nan) for molecule in molecules]  # type: ignore[no-untyped-call]
    values = np.array([list(row.values()) for row in table], dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)  # some overflow


def main(table: Path, kind: str, seed: int, folder: Path) -> None:
    """Fit one model per target on the training rows, and write predictions of the others."""
    rows = pd.read_csv(table)
    x, targets = describe(rows["smiles"]), rows.drop(columns=["smiles", "split"])
    predicted = {}
    for name, y in targets.items():
        known = (rows["split"] == "train") & y.notna()
        if kind == "regression":
            predicted[name] = HistGradientBoostingRegressor(random_state=seed).fit(x[known], y[known]).predict(x)
        else:
            classifier = HistGradientBoostingClassifier(random_state=seed).fit(x[known], y[known])
            predicted[name] = classifier.predict_proba(x)[:, 1]
    for part in ("val", "test"):
        pd.DataFrame(predicted)[rows["split"] == part].to_csv(folder / f"{part}.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
