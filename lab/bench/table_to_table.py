"""Molecules from CSV to CSV, beside chemprop: ``python -m lab.bench.table_to_table --python PATH --work FOLDER``.

PATH is the Python of an environment made from ``lab/peers-requirements.txt``. Each contender is one command,
start-up included, with its defaults: ``policylearn predict`` on a network with and on one without RDKit's descriptors,
``chemprop predict`` on a model with and on one without ``rdkit_2d``. They take turns, round by round, on the same file:
40,000 molecules of OGB, or the first 10,000 of these where models read descriptors, which are ten times as dear. Times
are those of the clock and those of all processors. The models are trained on 1,000 others for a few epochs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rdkit import Chem, rdBase

from lab.bench.commands import ours, run
from lab.provenance import keep
from policylearn.data import PackedGraphs, data_root
from policylearn.wording import markdown_table

TRAINED_ON = 1000
GOAL = 5
"""So many times chemprop's rate is aimed at."""
PEERS = {
    "policylearn": ("policylearn", False),
    "chemprop": ("chemprop", False),
    "policylearn with descriptors": ("policylearn", True),
    "chemprop with rdkit_2d": ("chemprop", True),
}
"""Program of each contender, and whether its model reads RDKit's descriptors."""
DATASETS = ("ogbg-molhiv", "ogbg-moltox21", "ogbg-molbace", "ogbg-molesol")
ELEMENTS = {6, 7, 8, 9, 16, 17, 35}
"""The usual ones: chemprop stops at a molecule with a descriptor that is not finite."""
MOST_ATOMS = 100


def different_molecules(datasets: tuple[str, ...] = DATASETS) -> Iterator[str]:
    """The SMILES of molecules of the usual elements in an order that is always the same, none of them twice."""
    texts: dict[str, None] = {}
    for name in datasets:
        texts |= dict.fromkeys(PackedGraphs.load(data_root() / f"{name}.npz").smiles or [])
    order, known = list(texts), set()
    np.random.default_rng(0).shuffle(order)
    with rdBase.BlockLogs():
        for text in order:
            molecule = Chem.MolFromSmiles(text)
            if molecule is None or not 2 <= molecule.GetNumAtoms() <= MOST_ATOMS:
                continue
            canonical = Chem.MolToSmiles(molecule)
            if canonical not in known and all(atom.GetAtomicNum() in ELEMENTS for atom in molecule.GetAtoms()):
                known.add(canonical)
                yield text


def commands(name: str, python: Path, work: Path, table: Path) -> tuple[list[str], list[str]]:
    """How a contender's model is trained, and the command that is timed."""
    program, descriptors = PEERS[name]
    train, model, output = str(work / "train.csv"), work / name, str(work / f"{name}.csv")
    if program == "policylearn":
        without = [] if descriptors else ["--data.transforms.descriptors", "null"]
        words = ["train", train, "--target", "y", "--epochs", "2", "--network-only", *without, "-o", str(model)]
        return [*ours(), *words], [*ours(), "predict", str(model), str(table), "-o", output]
    chemprop = str(python.with_name("chemprop"))
    shared = ["--smiles-columns", "smiles", *(["--molecule-featurizers", "rdkit_2d"] if descriptors else [])]
    words = ["--data-path", train, "--task-type", "regression", "--target-columns", "y", "--epochs", "3"]
    timed = ["--test-path", str(table), "--model-paths", str(model / "model_0" / "best.pt"), "--preds-path", output]
    return [chemprop, "train", *shared, *words, "--output-dir", str(model)], [chemprop, "predict", *shared, *timed]


def table(record: dict[str, Any]) -> str:
    """The record as documents hold it: medians over rounds."""
    rows, rates = [], {}
    for name, costs in record["costs"].items():
        found, (program, descriptors) = pd.DataFrame(costs), PEERS[name]
        rates[name] = found.rows / found.seconds
        ms, peak = (1000 * found.processor / found.rows).median(), found.peak_bytes.max() / 2**20
        figures = f"{found.rows[0]:,}", f"{rates[name].median():,.0f}", f"{ms:.2f}", f"{peak:,.0f}"
        rows.append((program, reads(descriptors), *figures))
    headings = ("command", "model", "molecules", "molecules a second", "ms of a processor per molecule", "peak MiB")
    text = [markdown_table(headings, rows)]
    for us, them in (list(PEERS)[:2], list(PEERS)[2:]):
        ratios = rates[us] / rates[them]
        each = ", ".join(f"{ratio:.1f}" for ratio in ratios)
        text.append(
            f"{reads(PEERS[us][1]).capitalize()}: {ratios.median():.1f} times chemprop's rate ({each} in"
            f" {len(ratios)} {'round' if len(ratios) == 1 else 'rounds'}); the goal is {GOAL} times."
        )
    begin, end = record["load"]
    text.append(f"The machine's load was {begin:.1f} at the beginning and {end:.1f} at the end, with these commands.")
    return "\n\n".join(text)


def reads(descriptors: bool) -> str:
    """What a model reads, in words."""
    return f"{'with' if descriptors else 'without'} descriptors"


def main() -> None:
    """Measure all contenders, round by round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, required=True, help="the peer's")
    parser.add_argument("--work", type=Path, required=True, help="folder for tables, models and outputs")
    parser.add_argument("--molecules", type=int, default=40_000)
    parser.add_argument("--described", type=int, default=10_000, help="molecules where models read descriptors")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    smiles, draw, load = different_molecules(), np.random.default_rng(0), os.getloadavg()[0]
    train = pd.DataFrame({"smiles": list(islice(smiles, TRAINED_ON))})
    train["y"] = [f"{len(text) / 10 + draw.normal():.3f}" for text in train["smiles"]]
    train.to_csv(work / "train.csv", index=False)
    rows = pd.DataFrame({"smiles": list(islice(smiles, options.molecules))})
    files = {False: work / "molecules.csv", True: work / "described.csv"}
    for descriptors, path in files.items():
        rows[: options.described if descriptors else None].to_csv(path, index=False)
    timed = {}
    for name, (_, descriptors) in PEERS.items():
        training, timed[name] = commands(name, options.python, work, files[descriptors])
        if not (work / name).exists():
            subprocess.run(training, check=True)
    costs: dict[str, list[dict[str, Any]]] = {name: [] for name in PEERS}
    counts = f"--molecules {options.molecules} --described {options.described} --rounds {options.rounds}"
    for _ in range(options.rounds):
        for name in PEERS:
            cost = run(timed[name], work / f"{name}.csv")
            print(name, cost, flush=True)
            costs[name].append(asdict(cost))
        # Kept round by round: a run of hours may be cut short.
        command = f"python -m lab.bench.table_to_table {counts}"
        print(keep("table_to_table", {"command": command, "load": [load, os.getloadavg()[0]], "costs": costs}))


if __name__ == "__main__":
    main()
