"""chemprop with RDKit's 2-D descriptors from a file: its own ``rdkit_2d`` stops where one of them is infinite.

On three molecules of moltox21 a partial charge or the information content overflows. Such a value is missing here,
which chemprop takes for 0 as it does with any missing descriptor; everything else is as with its flag.
``python -m lab.tables.chemprop_finite TABLE FOLDER ARGUMENT ...`` writes the descriptors to FOLDER and becomes
``chemprop train`` with the arguments, so that the process pays for both.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from lab.tables.boosting import describe


def main() -> None:
    """Describe the molecules, then train."""
    table, folder, *arguments = sys.argv[1:]
    values = describe(pd.read_csv(table)["smiles"])
    values[np.abs(values) > np.finfo(np.float32).max] = np.nan  # chemprop trains in single precision
    path = Path(folder) / "descriptors.npz"
    np.savez(path, values)
    chemprop = Path(sys.executable).with_name("chemprop")
    os.execv(chemprop, [str(chemprop), "train", *arguments, "--descriptors-path", str(path)])


if __name__ == "__main__":
    main()
