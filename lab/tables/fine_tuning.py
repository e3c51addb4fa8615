"""What a pre-trained encoder is worth on few rows: ``python -m lab.tables.fine_tuning START TABLE TARGET``.

For each seed, 80 rows are drawn to learn from (a fifth of them validates) and 500 others to test. A network from
scratch, one that starts from the run START and one whose encoder is frozen learn from the same rows with the same
settings. The table has the test RMSE of the network alone and of the blend with the kernel model, paired over seeds.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np

from policylearn.prediction import finish
from policylearn.settings import RunConfig, changed
from policylearn.training import load_source, run_config, train

LEARN, VALIDATE, TEST = 64, 16, 500
STEPS = {"fit.batch_size": 16, "fit.epochs": 50}
"""200 steps: of the defaults, a batch would be all rows."""
WAYS: dict[str, dict[str, object]] = {
    "from scratch": {"fit.start": None},
    "fine-tuned": {},
    "frozen": {"fit.freeze": True},
}


def drawn(source: Path, target: str, path: Path, seed: int) -> Path:
    """Some rows of a table, with their part."""
    with source.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    chosen = np.random.default_rng(seed).permutation(len(rows))[: LEARN + VALIDATE + TEST]
    words = ["train"] * LEARN + ["valid"] * VALIDATE + ["test"] * TEST
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("smiles", target, "split"))
        writer.writerows((rows[at]["smiles"], rows[at][target], word) for at, word in zip(chosen, words, strict=False))
    return path


def test_errors(start: Path, table: Path, target: str, seed: int) -> dict[str, tuple[float, float]]:
    """Test RMSE of the network alone and of the blend, by way."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        path = drawn(table, target, Path(name) / "few.csv", seed)
        split = {"data.split": "column", "data.split_column": "split", "fit.seed": seed, "fit.threads": 1}
        base = run_config(path, {"data.target": target, **split, **STEPS, "fit.start": str(start)})
        source = load_source(base.data)
        for way, more in WAYS.items():
            settings = {"fit": {key.split(".")[1]: value for key, value in more.items()}}
            config: RunConfig = changed(base, settings)
            outcome = finish(Path(name) / way, train(config, source, Path(name) / way).runs)
            found[way] = (outcome.metrics["alone"]["network"]["test"], outcome.metrics["test"])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m lab.tables.fine_tuning", description=__doc__)
    parser.add_argument("start", type=Path, help="run folder or packed file")
    parser.add_argument("table", type=Path)
    parser.add_argument("target")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    found = [test_errors(given.start, given.table, given.target, seed) for seed in range(given.seeds)]
    print(f"{given.start.name} to {given.table.stem}, {given.seeds} seeds, {LEARN + VALIDATE} rows")
    print("| way | network alone | paired gain | with the kernel model | paired gain |\n|---|---|---|---|---|")
    for way in WAYS:
        cells = []
        for at in (0, 1):
            own = np.array([one[way][at] for one in found])
            gain = np.array([one["from scratch"][at] for one in found]) - own
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            cells += [f"{own.mean():.3f}", "" if way == "from scratch" else f"{gain.mean():+.3f} ± {error:.3f}"]
        print(f"| {way} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
