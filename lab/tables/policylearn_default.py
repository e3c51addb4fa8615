"""policylearn itself, run as the peers are: its command with its defaults, in a process of its own.

Its cost is what the peers' is: start-up, descriptors (the cache is an empty folder), training, intervals and report.
The boosted trees that it trains beside, to be fair to the reader, are left out: they are a peer of their own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pandas as pd

from lab.tables.splits import TABLES

PARTS = {"valid": "val", "test": "test"}
"""Our word for a part, and that of the split files."""


def main(file: Path, seed: str, out: Path) -> None:
    """Train on a split file and write the predictions of each held-out part, a row per molecule."""
    os.environ["XDG_CACHE_HOME"] = str(out / "cache")
    from policylearn.cli.main import main as policylearn
    from policylearn.prediction.held_out import read_held_out
    from policylearn.training.runs import load_members

    (table,) = (known for known in TABLES.values() if file.name.startswith(f"{known.name}-"))
    words = ["--data.split_column", "split", "--seed", seed, "--fit.threads", "1"]
    status = policylearn(["train", str(file), "--target", *table.targets, *words, "-o", str(out / "run")])
    if status:
        raise SystemExit(status)
    parts = read_held_out(out / "run", load_members(out / "run")[0].facts.task)
    for part, word in PARTS.items():
        answers = pd.DataFrame(parts[part].answer.values, columns=list(table.targets))
        answers.to_csv(out / f"{word}.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[3], Path(sys.argv[4]))
