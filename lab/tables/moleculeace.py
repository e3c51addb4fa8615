"""Fifteen assays of MoleculeACE beside thirty published methods: ``python -m lab.tables.moleculeace run``.

``run`` trains with the defaults on the benchmark's split and keeps a record per assay; ``table`` writes the page.
The tables are read from ``POLICYLEARN_DATA/tables/moleculeace`` (``pip download MoleculeACE`` has them); they are CC
BY-SA data from ChEMBL and not part of this repository.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Literal

import cyclopts
import numpy as np
import pandas as pd

from lab.bench.commands import children_seconds, ours
from lab.pages import replace_between
from lab.pictures import new_picture
from lab.provenance import commit, describe_machine
from policylearn.data import data_root
from policylearn.data.atomic import write_text
from policylearn.wording import markdown_table

RECORDS = Path("results/moleculeace/test/default")
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


def measure(table: Path) -> dict[str, Any]:
    """Train on an assay by the command, in a process of its own, and say what it scores and costs."""
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "run"
        command = [*ours(), "train", str(table), "--target", "y", "--data.split_column", "split", "-o", str(run)]
        before, environment = children_seconds(), os.environ | {"XDG_CACHE_HOME": name}  # so that nothing is known yet
        subprocess.run(command, check=True, env=environment, capture_output=True)
        spent = children_seconds() - before
        metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
        answers = pd.read_csv(run / "predictions.csv").query("part == 'test'")
    return {
        "score": metrics["test"],
        "metric": metrics["metric"],
        **{name: metrics.get(name) for name in ("alone", "shares")},
        "rows": len(answers),
        "cpu_seconds": round(spent, 1),
        "commit": commit(),
        "machine": describe_machine(),
        **assay_figures(pd.read_csv(table), answers),
    }


def assay_figures(rows: pd.DataFrame, answers: pd.DataFrame) -> dict[str, Any]:
    """Errors and coverage of all test rows and of the activity cliffs."""
    cliff = (rows["cliff_mol"] > 0).to_numpy()[answers["graph"]]
    squares = (answers["predicted_y"] - answers["true_y"]) ** 2
    inside = answers["true_y"].between(answers["lower_y"], answers["upper_y"])
    return {
        "rmse": float(np.sqrt(squares.mean())),
        "cliff_rmse": float(np.sqrt(squares[cliff].mean())) if cliff.any() else None,
        "coverage": float(inside.mean()),
        "cliff_coverage": float(inside[cliff].mean()) if cliff.any() else None,
    }


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


def main(action: Literal["run", "table"]) -> None:
    """Train on the assays that have no record, or write the page."""
    if action == "table":
        found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RECORDS.glob("*.json"))}
        test = pd.DataFrame.from_dict(found, orient="index")  # a row per assay
        published = pd.read_csv(data_root() / "tables" / "moleculeace" / "published.csv")
        replace_between(PAGE, "<!-- test -->\n", f"{test_table(test, published)}\n", "<!-- /test -->")
        draw(test, published)
        return
    for table in tables():
        record = RECORDS / f"{table.stem}.json"
        if not record.exists():
            found = measure(table)
            write_text(record, json.dumps(found, indent=1) + "\n")
            print(f"{table.stem}: {found['score']:.4f}, {found['cpu_seconds']:.0f} s of a core", flush=True)


if __name__ == "__main__":
    cyclopts.run(main)
