"""Fifteen assays of MoleculeACE beside thirty published methods: ``python -m lab.tables.moleculeace run``.

``run`` trains with the defaults on the benchmark's split and keeps a record per assay; ``table`` writes the page.
`lab.tables.decide` chooses settings, on training rows alone.
The tables are read from ``POLICYLEARN_DATA/tables/moleculeace`` (``pip download MoleculeACE`` has them); they are CC
BY-SA data from ChEMBL and not part of this repository.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lab.bench.commands import children_seconds, ours
from lab.pages import replace_between
from lab.pictures import new_picture
from lab.provenance import commit, describe_machine
from lab.tables.splits import read_rows
from policylearn.data import data_root
from policylearn.wording import markdown_table

RECORDS = Path("results/moleculeace")
PEERS = {"CheMeleon": "CheMeleon (foundation model)", "SVM+ECFP": "SVM on ECFP"}
"""Methods that the picture shows, with what they are called there."""
PAGE, PICTURE = Path("docs/assays.md"), Path("docs/pictures/assays.png")


def tables() -> list[Path]:
    """The assays, the smallest first."""
    folder = data_root() / "tables" / "moleculeace"
    found = sorted(folder.glob("CHEMBL*.csv"), key=lambda path: path.stat().st_size)
    if not found:
        raise SystemExit(f"{folder}: holds no assays; 'pip download MoleculeACE' has them as CSV files")
    return found


def train(
    rows: pd.DataFrame, targets: Sequence[str], words: Sequence[str], cache: Path | None = None
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Train by the command in a process of its own.

    Args:
        rows: of the table, with their part in the column ``split``.
        targets: columns to predict.
        words: further options of ``policylearn train``.
        cache: folder that keeps descriptors from run to run; None computes them anew.

    Returns:
        What to keep of any run (its test metric, the figures of each model alone, processor seconds, where it ran) and
        the predictions of the test rows.
    """
    with tempfile.TemporaryDirectory() as name:
        table, run = Path(name) / "table.csv", Path(name) / "run"
        rows.to_csv(table, index=False)
        command = [*ours(), "train", str(table), "--target", *targets, "--data.split_column", "split", "-o", str(run)]
        before, environment = children_seconds(), os.environ | {"XDG_CACHE_HOME": str(cache or name)}
        subprocess.run([*command, *words], check=True, env=environment, capture_output=True)
        spent = children_seconds() - before
        metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
        answers = pd.read_csv(run / "predictions.csv").query("part == 'test'")
    return {
        "score": metrics["test"],
        "metric": metrics["metric"],
        **{name: metrics.get(name) for name in ("alone", "shares")},
        "rows": len(answers),
        "cpu_seconds": round(spent, 1),
        "words": list(words),
        "commit": commit(),
        "machine": describe_machine(),
    }, answers


def assay_figures(rows: pd.DataFrame, answers: pd.DataFrame) -> dict[str, Any]:
    """Errors and coverage of all test rows and of the activity cliffs."""
    cliff = (rows["cliff_mol"].astype(float) > 0).to_numpy()[answers["graph"]]
    squares = (answers["predicted_y"] - answers["true_y"]) ** 2
    inside = answers["true_y"].between(answers["lower_y"], answers["upper_y"])
    return {
        "rmse": float(np.sqrt(squares.mean())),
        "cliff_rmse": float(np.sqrt(squares[cliff].mean())) if cliff.any() else None,
        "coverage": float(inside.mean()),
        "cliff_coverage": float(inside[cliff].mean()) if cliff.any() else None,
    }


def keep(path: Path, found: dict[str, Any]) -> None:
    """Write the record of a run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{path.parent.name} {path.stem}: {found['score']:.4f}, {found['cpu_seconds']:.0f} s of a core", flush=True)


def load(folder: Path) -> pd.DataFrame:
    """The records of one setting, a row per assay; ``alone`` gives the test errors of each model by itself."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    return pd.DataFrame.from_dict(found, orient="index")


def test_table(test: pd.DataFrame, published: pd.DataFrame) -> str:
    """Ours beside the published methods, on the test rows."""
    theirs = published[published["assay"].isin(test.index)]
    methods = theirs.groupby("method")[["rmse", "cliff_rmse"]].mean()
    methods["wins"] = (theirs["rmse"] > theirs["assay"].map(test["rmse"])).groupby(theirs["method"]).sum()
    whole = methods[theirs["method"].value_counts() == len(test)].sort_values("rmse", kind="stable")
    own = test[["rmse", "cliff_rmse", "cpu_seconds", "coverage"]].mean()
    name = f"**policylearn, defaults** ({own['cpu_seconds']:.0f} core s per assay)"
    lines = [(name, f"**{own['rmse']:.3f}**", f"**{own['cliff_rmse']:.3f}**", "")]
    for method, one in whole.iterrows():
        wins = f"{one['wins']:.0f} of {len(test)}"
        lines.append((str(method), f"{one['rmse']:.3f}", f"{one['cliff_rmse']:.3f}", wins))
    table = markdown_table(("method", "mean RMSE", "on cliffs", "ours is better on"), lines)
    return f"{table}\n\n90 % intervals held {own['coverage']:.1%} of the test rows."


def draw(test: pd.DataFrame, published: pd.DataFrame) -> None:
    """One dot per assay: ours against two published methods; below the line ours is better."""
    with new_picture(PICTURE, 4.6, 4.4, dpi=150) as figure:
        axes, ends = figure.subplots(), (0.35, 0.95)
        for method, title in PEERS.items():
            theirs = published[published["method"] == method].set_index("assay")["rmse"]
            both = pd.DataFrame({"ours": test["rmse"], "theirs": theirs}).dropna()
            wins = int((both["ours"] < both["theirs"]).sum())
            axes.scatter(both["theirs"], both["ours"], label=f"{title}: better on {wins} of {len(both)}")
        axes.plot(ends, ends, color="grey", linewidth=1)
        axes.set(xlabel="published method, test RMSE", ylabel="policylearn, test RMSE", xlim=ends, ylim=ends)
        axes.legend(loc="upper left", frameon=False, fontsize=8)


def main() -> None:
    """Run one action."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--name", default="default", help="of the setting, under which records are kept")
    parser.add_argument("--only", nargs="*", default=(), help="some assays")
    options, words = parser.parse_known_args()
    folder = RECORDS / "test" / options.name
    if options.action == "table":
        test, published = load(folder), pd.read_csv(data_root() / "tables" / "moleculeace" / "published.csv")
        replace_between(PAGE, "<!-- test -->\n", f"{test_table(test, published)}\n", "<!-- /test -->")
        draw(test, published)
        return
    for path in tables():
        if (not options.only or path.stem in options.only) and not (folder / f"{path.stem}.json").exists():
            rows = read_rows(path)
            found, answers = train(rows, ["y"], words)
            keep(folder / f"{path.stem}.json", found | assay_figures(rows, answers))


if __name__ == "__main__":
    main()
