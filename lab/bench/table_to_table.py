"""Molecules from CSV to CSV, beside chemprop: ``python -m lab.bench.table_to_table --python PATH --work FOLDER``.

PATH is the Python of an environment made from ``lab/peers-requirements.txt``. Each contender is one command,
start-up included, with its defaults: ``policylearn predict`` on a network with and on one without RDKit's descriptors,
``chemprop predict`` on a model with and on one without ``rdkit_2d``. They take turns, round by round, on the same file:
40,000 molecules of OGB, or the first 10,000 of these where models read descriptors, which are ten times as dear. Times
are those of the clock and those of all processors. The models are trained on 1,000 others for a few epochs.

``--memory`` runs ``policylearn predict`` alone, on the same molecules and on 1,000,000 rows, which hold them over and
over, to see whether memory grows with the file.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from lab.bench.machine import keep
from lab.bench.molecules import different_molecules
from lab.bench.startup import ours
from lab.bench.watched_command import Cost, run
from policylearn.wording import markdown_table

NAME, MEMORY = "table_to_table", "table_to_table_memory"
TRAINED_ON = 1000
MOLECULES, DESCRIBED, MANY = 40_000, 10_000, 1_000_000
GOAL = 5
"""So many times chemprop's rate is aimed at."""
MIB = 2**20


@dataclass(frozen=True)
class Peer:
    """One command: policylearn or chemprop, with a model that reads RDKit's descriptors or not."""

    name: str
    program: str
    descriptors: bool

    def train(self, python: Path, table: Path, folder: Path) -> list[str]:
        """How its model is made."""
        if self.program == "policylearn":
            without = [] if self.descriptors else ["--data.transforms.descriptors", "null"]
            words = ["train", str(table), "--target", "y", "--epochs", "2", "--network-only", *without]
            return [*ours(), *words, "-o", str(folder)]
        words = ["train", "--data-path", str(table), "--task-type", "regression", "--smiles-columns", "smiles"]
        words += ["--target-columns", "y", "--epochs", "3", "--output-dir", str(folder)]
        return [str(python.with_name("chemprop")), *words, *self.featurizers]

    def predict(self, python: Path, folder: Path, table: Path, output: Path) -> list[str]:
        """The command that is timed."""
        if self.program == "policylearn":
            return [*ours(), "predict", str(folder), str(table), "-o", str(output)]
        model = folder / "model_0" / "best.pt"
        words = ["predict", "--test-path", str(table), "--smiles-columns", "smiles", "--model-paths", str(model)]
        return [str(python.with_name("chemprop")), *words, "--preds-path", str(output), *self.featurizers]

    @property
    def folder(self) -> str:
        """The name of its model's folder."""
        return self.name.replace(" ", "-")

    @property
    def featurizers(self) -> list[str]:
        """How chemprop is told to use descriptors."""
        return ["--molecule-featurizers", "rdkit_2d"] if self.descriptors else []

    @property
    def reads(self) -> str:
        return f"{'with' if self.descriptors else 'without'} descriptors"


PEERS = (
    Peer("policylearn", "policylearn", False),
    Peer("chemprop", "chemprop", False),
    Peer("policylearn with descriptors", "policylearn", True),
    Peer("chemprop with rdkit_2d", "chemprop", True),
)


def write_tables(work: Path, molecules: int) -> tuple[Path, Path]:
    """A table to train on and one to predict on; those that are there already are the same."""
    train, data = work / "train.csv", work / f"molecules-{molecules}.csv"
    if not (train.exists() and data.exists()):
        smiles, draw = different_molecules(), np.random.default_rng(0)
        rows = [[text, f"{len(text) / 10 + draw.normal():.3f}"] for text in islice(smiles, TRAINED_ON)]
        write_rows(train, ["smiles", "y"], rows)
        write_rows(data, ["smiles"], [[text] for text in islice(smiles, molecules)])
    return train, data


def write_rows(path: Path, header: list[str], rows: Sequence[list[str]], count: int | None = None) -> Path:
    """A table of rows; of so many, where these are to be repeated."""
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows if count is None else islice(cycle(rows), count))
    return part.replace(path)


def first_rows(data: Path, count: int) -> Path:
    """A table of that many rows of another, which begins again where it ends."""
    path = data.with_name(f"rows-{count}-of-{data.name}")
    with data.open(newline="") as file:
        header, *rows = csv.reader(file)
    return data if len(rows) == count else write_rows(path, header, rows, count)


def table(record: dict[str, Any]) -> str:
    """The record as documents hold it: medians over rounds."""
    rows, rates = [], {}
    for peer in PEERS:
        costs = [Cost(**cost) for cost in record["costs"].get(peer.name, [])]
        if not costs:
            continue
        rates[peer.name] = [cost.rate for cost in costs]
        cpu = statistics.median(cost.processor_ms for cost in costs)
        peak = max(cost.peak_bytes for cost in costs) / MIB
        rate = statistics.median(rates[peer.name])
        rows.append((peer.program, peer.reads, f"{costs[0].rows:,}", f"{rate:,.0f}", f"{cpu:.2f}", f"{peak:,.0f}"))
    headings = ("command", "model", "molecules", "molecules a second", "ms of a processor per molecule", "peak MiB")
    text = [markdown_table(headings, rows)]
    for us, them in (PEERS[:2], PEERS[2:]):
        if us.name in rates and them.name in rates:
            ratios = [a / b for a, b in zip(rates[us.name], rates[them.name], strict=True)]
            each = ", ".join(f"{ratio:.1f}" for ratio in ratios)
            text.append(
                f"{us.reads.capitalize()}: {statistics.median(ratios):.1f} times chemprop's rate ({each} in"
                f" {len(ratios)} {'round' if len(ratios) == 1 else 'rounds'}); the goal is {GOAL} times."
            )
    begin, end = record["load"]
    text.append(f"The machine's load was {begin:.1f} at the beginning and {end:.1f} at the end, with these commands.")
    return "\n\n".join(text)


def trained(peer: Peer, options: argparse.Namespace, table: Path) -> Path:
    """The folder of a contender's model, which is trained where it is not there."""
    folder: Path = options.work / peer.folder
    if not folder.exists():
        subprocess.run(peer.train(options.python, table, folder), check=True)
    return folder


def compare(options: argparse.Namespace) -> Path:
    """Measure all contenders, and give the record."""
    train, data = write_tables(options.work, options.molecules)
    costs: dict[str, list[dict[str, Any]]] = {peer.name: [] for peer in PEERS}
    folders = {peer.name: trained(peer, options, train) for peer in PEERS}
    load, path = os.getloadavg()[0], Path()
    for _ in range(options.rounds):
        for peer in PEERS:
            output = options.work / f"{peer.folder}.csv"
            source = first_rows(data, min(options.described, options.molecules)) if peer.descriptors else data
            cost = run(peer.predict(options.python, folders[peer.name], source, output), output)
            print(peer.name, cost, flush=True)
            costs[peer.name].append(asdict(cost))
        counts = f"--molecules {options.molecules} --described {options.described} --rounds {options.rounds}"
        # Kept round by round: a run of hours may be cut short.
        words = f"python -m lab.bench.table_to_table {counts}"
        path = keep(NAME, {"command": words, "load": [load, os.getloadavg()[0]], "costs": costs})
    return path


def measure_memory(options: argparse.Namespace) -> Path:
    """Run our command on the molecules and on many more rows, and give the record."""
    train, data = write_tables(options.work, options.molecules)
    folder, costs = trained(PEERS[0], options, train), []
    for rows in (options.molecules, options.memory):
        output = options.work / f"memory-{rows}.csv"
        costs.append(asdict(run(PEERS[0].predict(Path(), folder, first_rows(data, rows), output), output)))
        print(costs[-1], flush=True)
        output.unlink()
    words = f"python -m lab.bench.table_to_table --molecules {options.molecules} --memory {options.memory}"
    return keep(MEMORY, {"command": words, "load": os.getloadavg()[0], "costs": costs})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, help="the peer's")
    parser.add_argument("--work", type=Path, required=True, help="folder for tables, models and outputs")
    parser.add_argument("--molecules", type=int, default=MOLECULES)
    parser.add_argument("--described", type=int, default=DESCRIBED, help="molecules where models read descriptors")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--memory", type=int, nargs="?", const=MANY, help="measure our memory on so many rows instead")
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    print(measure_memory(chosen) if chosen.memory else compare(chosen))
