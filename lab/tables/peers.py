"""Run the peers, one process per run, and record what each scores and costs.

``python -m lab.tables.peers --python PATH`` runs everything that is not recorded yet, cheap peers and tables
first; ``--peers`` and ``--tables`` narrow it. PATH is the Python of an environment made from
``lab/peers-requirements.txt``. Any number of processes may share the work. Each run has one thread; its cost is
what the system counts for the process and its children, descriptors and start-up included. chemprop runs by its own
command line with its defaults, and every peer is scored here, from its predictions. policylearn itself is run in the
same way, by the Python that runs this. On moltox21 chemprop's `rdkit_2d` stops at an infinite descriptor; findings.md
says how the records were made.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cyclopts
import numpy as np
import pandas as pd
from filelock import FileLock, Timeout
from sklearn.metrics import roc_auc_score

from lab.bench.commands import children_seconds, ours
from lab.provenance import PROJECT, describe
from lab.tables.splits import TABLES, SplitTable, split_file
from lab.tables.summary import RECORDS, read
from policylearn.cli.options import Words

OURS = "policylearn"
PEERS = ("boosting", OURS, "chemprop", "chemprop-rdkit2d")
FEATURES = {"chemprop": [], "chemprop-rdkit2d": ["--molecule-featurizers", "rdkit_2d"]}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
PACKAGES = ("chemprop", "torch", "scikit-learn", "rdkit", "numpy")


@dataclass(frozen=True)
class PeerJob:
    """One peer on one table with one seed."""

    peer: str
    table: SplitTable
    seed: int

    def command(self, python: Path, file: Path, out: Path) -> list[str]:
        """What to run; it writes its predictions below ``out``."""
        if self.peer == OURS:
            words = ["--data.split_column", "split", "--seed", str(self.seed), "--fit.threads", "1"]
            return [*ours(), "train", str(file), "--target", *self.table.targets, *words, "-o", str(out / "run")]
        if self.peer not in FEATURES:
            return [str(python), "-m", f"lab.tables.{self.peer}", str(file), self.table.kind, str(self.seed), str(out)]
        columns = ["--smiles-columns", "smiles", "--target-columns", *self.table.targets, "--splits-column", "split"]
        seeds = ["--pytorch-seed", str(self.seed), "--data-seed", str(self.seed)]
        train = ["--data-path", str(file), "--output-dir", str(out), "--task-type", self.table.kind, *columns, *seeds]
        return [str(python.with_name("chemprop")), "train", *train, *FEATURES[self.peer]]


def jobs(peers: Sequence[str], tables: Sequence[str]) -> Iterator[PeerJob]:
    """Peers on descriptors first, as they take seconds; then the others, side by side on each seed."""
    for turn in ([peer for peer in peers if peer not in FEATURES], [peer for peer in peers if peer in FEATURES]):
        for table in (TABLES[name] for name in tables):
            yield from (PeerJob(peer, table, seed) for seed in range(table.seeds) for peer in turn)


def is_recorded(job: PeerJob) -> bool:
    """Whether a run is done."""
    records = read([RECORDS], job.table.name)
    return bool(((records["peer"] == job.peer) & (records["seed"] == job.seed)).any())


def run(job: PeerJob, python: Path, work: Path, where: dict[str, Any]) -> dict[str, Any]:
    """Run a peer in a process of its own, score it and return its record.

    Args:
        job: what to run.
        python: of the environment that has the peers.
        work: folder of the split files and of the output of the runs.
        where: versions of the peers, machine and commit.
    """
    file = split_file(work / "splits", job.table, job.seed)
    log = work / "logs" / f"{job.table.name}-{job.seed}-{job.peer}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="peer-") as name:
        out = Path(name)
        command, start, before = job.command(python, file, out), time.monotonic(), children_seconds()
        folder = PROJECT if command[1] == "-m" else out  # of a module of ours, or of a program that may leave files
        environment = os.environ | ONE_THREAD | {"XDG_CACHE_HOME": str(out / "cache")}  # so that nothing is known yet
        with log.open("w") as output:
            done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=folder)
        if done.returncode:
            raise SystemExit(f"{job.peer} on {file} ended with status {done.returncode}; {log} has what it said")
        scores = {part: score(job.table, file, part, predictions(job, file, out, part)) for part in ("val", "test")}
    return {
        "peer": job.peer,
        "table": job.table.name,
        "seed": job.seed,
        "metric": job.table.metric,
        "valid": scores["val"],
        "test": scores["test"],
        "cpu_seconds": round(children_seconds() - before, 2),
        "wall_seconds": round(time.monotonic() - start, 2),
        "command": " ".join(command).replace(str(work), "WORK").replace(name, "OUT").replace(f"{PROJECT}/", ""),
        "split_sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **where,
    }


def predictions(job: PeerJob, file: Path, out: Path, part: str) -> pd.DataFrame | None:
    """What the peer wrote for a part, a column per target; chemprop predicts the test rows alone."""
    if job.peer == OURS:
        rows, name = pd.read_csv(out / "run" / "predictions.csv"), {"val": "valid", "test": "test"}[part]
        kind = "predicted" if job.table.kind == "regression" else "probability"
        own = rows.loc[rows["part"] == name, [f"{kind}_{target}" for target in job.table.targets]]
        return own.set_axis(list(job.table.targets), axis=1).reset_index(drop=True)
    if job.peer not in FEATURES:
        return pd.read_csv(out / f"{part}.csv")
    if part == "val":
        return None
    rows = pd.read_csv(out / "model_0" / "test_predictions.csv")
    if rows["smiles"].tolist() != rows_of(file, part)["smiles"].tolist():
        raise ValueError(f"{job.peer} on {file}: its predictions are not of the {part} rows in their order")
    return rows[list(job.table.targets)]


def rows_of(file: Path, part: str) -> pd.DataFrame:
    """The rows of one part of a split file."""
    rows = pd.read_csv(file)
    return rows[rows["split"] == part].reset_index(drop=True)


def score(table: SplitTable, file: Path, part: str, predicted: pd.DataFrame | None) -> float | None:
    """Root mean squared error, or the mean ROC-AUC over the targets that have both labels; None without predictions."""
    if predicted is None:
        return None
    truth = rows_of(file, part)[list(table.targets)]
    if predicted.shape != truth.shape or predicted.isna().any(axis=None):
        raise ValueError(
            f"{part} of {file}: needs predictions of shape {truth.shape} without NaN, got {predicted.shape}"
        )
    if table.kind == "regression":
        return float(np.sqrt(np.mean((predicted - truth).to_numpy() ** 2)))
    known = [(labels.dropna(), predicted[name]) for name, labels in truth.items()]
    return float(np.mean([roc_auc_score(y, scores[y.index]) for y, scores in known if y.nunique() == 2]))


def versions(python: Path) -> dict[str, str]:
    """What the environment of the peers holds."""
    words = [str(python), "-m", "pip", "list", "--format", "json"]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return {one["name"].lower(): one["version"] for one in found if one["name"].lower() in PACKAGES}


def main(
    *,
    python: Path,
    work: Path = PROJECT / "runs" / "peers",
    peers: Words = PEERS,
    tables: Words = tuple(TABLES),
) -> None:
    """Run what is missing.

    Args:
        python: Python of the environment that has the peers.
        work: folder of splits, logs and locks.
        peers: those to run.
        tables: those to run them on.
    """
    work, python = work.absolute(), python.absolute()
    where = {"versions": versions(python), "machine": describe()}
    (work / "locks").mkdir(parents=True, exist_ok=True)
    for job in jobs(peers, tables):
        name = f"{job.table.name}-{job.seed}-{job.peer}"
        try:
            with FileLock(work / "locks" / f"{name}.lock", timeout=0):
                if is_recorded(job):
                    continue
                record = run(job, python, work, where)
                with FileLock(work / "locks" / "records.lock"), (RECORDS / f"{job.table.name}.jsonl").open("a") as file:
                    file.write(json.dumps(record) + "\n")
        except Timeout:
            print(f"{name}: another process is at it", flush=True)
            continue
        cost = f"{record['cpu_seconds']:.0f} CPU s, {record['wall_seconds']:.0f} s"
        print(f"{record['finished']} {name}: {record['metric']} {record['test']:.4f}, {cost}", flush=True)


if __name__ == "__main__":
    cyclopts.run(main)
