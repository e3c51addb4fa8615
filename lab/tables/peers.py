"""Run policylearn and chemprop, one process per run, and record what each scores and costs.

``python -m lab.tables.peers --python PATH`` runs everything that is not recorded yet, cheap tables first; ``--peers``
and ``--tables`` narrow it. PATH is the Python of an environment made from ``lab/peers-requirements.txt``. Any number of
processes may share the work. Each run has one thread; its cost is what the system counts for the process and its
children, descriptors and start-up included. Both run by their own command line with their defaults, and are scored
here, from their predictions. On moltox21 chemprop's `rdkit_2d` stops at an infinite descriptor; lab/findings.md says
how the records of that table were made.
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
from lab.settings import look_up
from lab.tables.splits import TABLES, SplitTable, split_file
from lab.tables.summary import RECORDS, read
from policylearn.cli.options import Words

OURS = "policylearn"
FEATURES = {"chemprop": [], "chemprop-rdkit2d": ["--molecule-featurizers", "rdkit_2d"]}
PEERS = (OURS, *FEATURES)
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
        columns = ["--smiles-columns", "smiles", "--target-columns", *self.table.targets, "--splits-column", "split"]
        seeds = ["--pytorch-seed", str(self.seed), "--data-seed", str(self.seed)]
        train = ["--data-path", str(file), "--output-dir", str(out), "--task-type", self.table.kind, *columns, *seeds]
        return [str(python.with_name("chemprop")), "train", *train, *FEATURES[self.peer]]


def jobs(peers: Sequence[str], tables: Sequence[str]) -> Iterator[PeerJob]:
    """The peers side by side on each seed of each table."""
    for peer in peers:
        look_up("peer", peer, dict.fromkeys(PEERS))
    for table in [look_up("table", name, TABLES) for name in tables]:
        yield from (PeerJob(peer, table, seed) for seed in range(table.seeds) for peer in peers)


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
        environment = os.environ | ONE_THREAD | {"XDG_CACHE_HOME": str(out / "cache")}  # so that nothing is known yet
        with log.open("w") as output:
            done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=out)
        if done.returncode:
            raise SystemExit(f"{job.peer} on {file} ended with status {done.returncode}; {log} has what it said")
        test = score(job.table, file, predictions(job, file, out))
    return {
        "peer": job.peer,
        "table": job.table.name,
        "seed": job.seed,
        "metric": job.table.metric,
        "test": test,
        "cpu_seconds": round(children_seconds() - before, 2),
        "wall_seconds": round(time.monotonic() - start, 2),
        "command": " ".join(command).replace(str(work), "WORK").replace(name, "OUT").replace(f"{PROJECT}/", ""),
        "split_sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **where,
    }


def predictions(job: PeerJob, file: Path, out: Path) -> pd.DataFrame:
    """What the peer wrote for the test rows, a column per target."""
    targets = list(job.table.targets)
    if job.peer == OURS:
        rows = pd.read_csv(out / "run" / "predictions.csv").query("part == 'test'")
        kind = "predicted" if job.table.kind == "regression" else "probability"
        return rows[[f"{kind}_{target}" for target in targets]].set_axis(targets, axis=1).reset_index(drop=True)
    rows = pd.read_csv(out / "model_0" / "test_predictions.csv")
    if rows["smiles"].tolist() != test_rows(file)["smiles"].tolist():
        raise ValueError(f"{job.peer} on {file}: its predictions are not of the test rows in their order")
    return rows[targets]


def test_rows(file: Path) -> pd.DataFrame:
    """The test rows of a split file."""
    return pd.read_csv(file).query("split == 'test'").reset_index(drop=True)


def score(table: SplitTable, file: Path, predicted: pd.DataFrame) -> float:
    """Root mean squared error, or the mean ROC-AUC over the targets that have both labels."""
    truth = test_rows(file)[list(table.targets)]
    if predicted.shape != truth.shape or predicted.isna().any(axis=None):
        raise ValueError(f"{file}: needs predictions of shape {truth.shape} without NaN, got {predicted.shape}")
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
    *, python: Path, work: Path = PROJECT / "runs" / "peers", peers: Words = PEERS, tables: Words = tuple(TABLES)
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
                known = read([RECORDS], job.table.name)
                if ((known["peer"] == job.peer) & (known["seed"] == job.seed)).any():
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
