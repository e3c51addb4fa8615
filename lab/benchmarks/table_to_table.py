"""Molecules from CSV to CSV, beside chemprop: ``python -m lab.benchmarks.table_to_table --python PATH --work FOLDER``.

PATH is the Python of an environment made from ``lab/peers-requirements.txt``. Each contender is one command,
start-up included, with its defaults: ``policylearn predict`` on a run with and on one without RDKit's descriptors,
``chemprop predict`` on a model with and on one without ``rdkit_2d``. They take turns, round by round, on the same file:
100,000 molecules, or the first 10,000 of these where models read descriptors, which are ten times as dear. Times are
those of the clock and those of all processors, with all processes that a command starts. `lab.benchmarks.molecules`
says which molecules these are. The models are trained on 1,000 others for a few epochs.

``--memory`` runs ``policylearn predict`` alone, on the same molecules and on 1,000,000 rows, which hold them over and
over, to see whether memory grows with the file. Both ways, the record's table is written into docs/performance.md;
``--table`` does that again from the records that are there.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from lab.benchmarks.machine import RESULTS, keep
from lab.benchmarks.molecules import different_molecules
from lab.benchmarks.page import PAGE, with_table
from lab.benchmarks.watched_command import Cost, run
from policylearn.wording import markdown_table

NAME, MEMORY = "table_to_table", "table_to_table_memory"
TRAINED_ON = 1000
MOLECULES, DESCRIBED, MANY = 100_000, 10_000, 1_000_000
GOAL = 5
"""So many times chemprop's rate is aimed at."""
HEADINGS = ("command", "model", "molecules", "molecules a second", "ms of a processor per molecule", "peak MiB")


@dataclass(frozen=True)
class Contender:
    """One command.

    Args:
        name: of the record.
        program: policylearn or chemprop.
        descriptors: whether its model reads RDKit's descriptors.
    """

    name: str
    program: str
    descriptors: bool

    def train(self, python: Path, table: Path, folder: Path) -> list[str]:
        """How its model is made."""
        if self.program == "policylearn":
            without = [] if self.descriptors else ["--data.transforms.descriptors", "null"]
            words = ["train", str(table), "--target", "y", "--epochs", "2", "--no-baseline", "-o", str(folder)]
            return [*ours(), *words, *without]
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


CONTENDERS = (
    Contender("policylearn", "policylearn", False),
    Contender("chemprop", "chemprop", False),
    Contender("policylearn with descriptors", "policylearn", True),
    Contender("chemprop with rdkit_2d", "chemprop", True),
)


def ours() -> list[str]:
    """The command, of the same installation as this script."""
    return [sys.executable, "-c", "import sys; from policylearn.cli import main; sys.exit(main(sys.argv[1:]))"]


def write_tables(work: Path, molecules: int) -> tuple[Path, Path]:
    """A table to train on and one to predict on; those that are there already are the same."""
    train, data = work / "train.csv", work / f"molecules-{molecules}.csv"
    if train.exists() and data.exists():
        return train, data
    smiles = different_molecules()
    draw = np.random.default_rng(0)
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
    for contender in CONTENDERS:
        costs = [Cost(**cost) for cost in record["costs"].get(contender.name, [])]
        if not costs:
            continue
        rates[contender.name] = [cost.rate for cost in costs]
        cpu = statistics.median(1000 * cost.processor / cost.rows for cost in costs)
        peak = max(cost.peak_bytes for cost in costs) / 2**20
        reads = "with descriptors" if contender.descriptors else "without descriptors"
        rate = statistics.median(rates[contender.name])
        rows.append((contender.program, reads, f"{costs[0].rows:,}", f"{rate:,.0f}", f"{cpu:.2f}", f"{peak:,.0f}"))
    text = [markdown_table(HEADINGS, rows)]
    for us, them in (CONTENDERS[:2], CONTENDERS[2:]):
        if us.name in rates and them.name in rates:
            ratios = [a / b for a, b in zip(rates[us.name], rates[them.name], strict=True)]
            kind = "with descriptors" if us.descriptors else "without descriptors"
            each = ", ".join(f"{ratio:.1f}" for ratio in ratios)
            text.append(
                f"{kind.capitalize()}: {statistics.median(ratios):.1f} times chemprop's rate ({each} in {len(ratios)}"
                f" {'round' if len(ratios) == 1 else 'rounds'}); the goal is {GOAL} times."
            )
    begin, end = record["load"]
    text.append(f"The machine's load was {begin:.1f} at the beginning and {end:.1f} at the end, with these commands.")
    return "\n\n".join(text)


def memory_table(record: dict[str, Any]) -> str:
    """Rows and memory of the runs of `policylearn predict` alone."""
    costs = [Cost(**cost) for cost in record["costs"]]
    headings = ("rows", "peak MiB", "rows a second", "ms of a processor per row")
    return markdown_table(
        headings,
        [
            (
                f"{cost.rows:,}",
                f"{cost.peak_bytes / 2**20:,.0f}",
                f"{cost.rate:,.0f}",
                f"{1000 * cost.processor / cost.rows:.2f}",
            )
            for cost in costs
        ],
    )


def written(page: str) -> str:
    """The page with the tables of both records; a place without a record stays empty."""
    for name, made in ((NAME, table), (MEMORY, memory_table)):
        record = RESULTS / f"{name}.json"
        page = with_table(page, name, made(json.loads(record.read_text())) if record.exists() else "")
    return page


def compare(options: argparse.Namespace) -> Path:
    """Measure all contenders, and give the record."""
    train, data = write_tables(options.work, options.molecules)
    contenders = [contender for contender in CONTENDERS if contender.name in options.only]
    costs: dict[str, list[dict[str, Any]]] = {contender.name: [] for contender in contenders}
    folders = {contender.name: trained(contender, options, train) for contender in contenders}
    load = os.getloadavg()[0]
    path = RESULTS
    for _ in range(options.rounds):
        for contender in contenders:
            output = options.work / f"{contender.folder}.csv"
            source = first_rows(data, min(options.described, options.molecules)) if contender.descriptors else data
            command = contender.predict(options.python, folders[contender.name], source, output)
            cost = run(command, output, priority=options.priority)
            print(contender.name, cost, flush=True)
            costs[contender.name].append(asdict(cost))
        # Kept round by round: a run of hours may be cut short.
        counts = f"--molecules {options.molecules} --described {options.described} --rounds {options.rounds}"
        record = {
            "command": f"python -m lab.benchmarks.table_to_table {counts}",
            "load": [load, os.getloadavg()[0]],
            "priority": options.priority,
            "costs": costs,
        }
        path = keep(options.name, record)
    print(table(record))
    return path


def trained(contender: Contender, options: argparse.Namespace, table: Path) -> Path:
    """The folder of a contender's model, which is trained where it is not there."""
    folder: Path = options.work / contender.folder
    if not folder.exists():
        subprocess.run(contender.train(options.python, table, folder), check=True)
    return folder


def measure_memory(options: argparse.Namespace) -> Path:
    """Run our command on the molecules and on many more rows, and give the record."""
    train, data = write_tables(options.work, options.molecules)
    folder = trained(CONTENDERS[0], options, train)
    costs = []
    for rows in (options.molecules, options.memory):
        output = options.work / f"memory-{rows}.csv"
        command = CONTENDERS[0].predict(Path(), folder, first_rows(data, rows), output)
        costs.append(asdict(run(command, output, priority=options.priority)))
        print(costs[-1], flush=True)
        output.unlink()
    words = f"--molecules {options.molecules} --memory {options.memory}"
    record = {"command": f"python -m lab.benchmarks.table_to_table {words}", "load": os.getloadavg()[0], "costs": costs}
    print(memory_table(record))
    return keep(options.name if options.name != NAME else MEMORY, record)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, help="the peer's")
    parser.add_argument("--work", type=Path, help="folder for tables, models and outputs")
    parser.add_argument("--molecules", type=int, default=MOLECULES)
    parser.add_argument("--described", type=int, default=DESCRIBED, help="molecules where models read descriptors")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[c.name for c in CONTENDERS], help="names of contenders")
    parser.add_argument("--priority", type=int, default=None, help="of each command over others (Linux: autogroup)")
    parser.add_argument("--name", default=NAME, help="of the record; the page is written for the usual one alone")
    parser.add_argument("--memory", type=int, nargs="?", const=MANY, help="measure our memory on so many rows instead")
    parser.add_argument("--table", action="store_true", help="write the tables of the records into the docs instead")
    options = parser.parse_args()
    if not options.table:
        options.work.mkdir(parents=True, exist_ok=True)
        print(measure_memory(options) if options.memory else compare(options))
    if options.name == NAME:
        PAGE.write_text(written(PAGE.read_text()))


if __name__ == "__main__":
    main()
