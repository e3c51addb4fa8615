"""Molecules from CSV to CSV, beside chemprop: ``python -m benchmarks.table_to_table --python PATH --work FOLDER``.

PATH is the Python of an environment made from ``benchmarks/peers-requirements.txt``. Each contender is one command,
start-up included, with its defaults: ``policylearn predict`` on a run with and on one without RDKit's descriptors,
``chemprop predict`` on a model with and on one without ``rdkit_2d``. They take turns, round by round, on the same file.
Times are those of the clock and those of all processors, with all processes that a command starts.

Molecules are the different SMILES of ogbg-molhiv, moltox21, molbace and molesol that have up to 100 atoms of the usual
organic elements: chemprop stops at a molecule with a descriptor that is not finite. Beyond those, each stands there
again in another order of atoms, so no SMILES stands twice. The models are trained on 1,000 molecules for a few epochs;
how well they predict plays no part. ``--table`` writes the table of the record into docs/performance.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rdkit import Chem, rdBase

from benchmarks.machine import RESULTS, keep
from benchmarks.page import PAGE, with_table
from policylearn.data import PackedGraphs, data_root
from policylearn.wording import markdown_table

NAME = "table_to_table"
DATASETS = ("ogbg-molhiv", "ogbg-moltox21", "ogbg-molbace", "ogbg-molesol")
ELEMENTS = {6, 7, 8, 9, 16, 17, 35}
MOST_ATOMS = 100
TRAINED_ON = 1000
POLL = 0.2
TICKS = os.sysconf("SC_CLK_TCK")
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
    def featurizers(self) -> list[str]:
        """How chemprop is told to use descriptors."""
        return ["--molecule-featurizers", "rdkit_2d"] if self.descriptors else []


CONTENDERS = (
    Contender("policylearn", "policylearn", False),
    Contender("chemprop", "chemprop", False),
    Contender("policylearn with descriptors", "policylearn", True),
    Contender("chemprop with rdkit_2d", "chemprop", True),
)


@dataclass(frozen=True)
class Cost:
    """What one run of a command took.

    Args:
        seconds: of the clock.
        processor: seconds of all processors and processes.
        peak_bytes: the most that its processes held together, shared pages counted in each.
        rows: that it wrote.
    """

    seconds: float
    processor: float
    peak_bytes: int
    rows: int


def ours() -> list[str]:
    """The command, of the same installation as this script."""
    return [sys.executable, "-c", "import sys; from policylearn.cli import main; sys.exit(main(sys.argv[1:]))"]


def usual(molecule: Chem.Mol | None) -> bool:
    """Whether descriptors of a molecule are finite, as far as its atoms tell."""
    if molecule is None or not 2 <= molecule.GetNumAtoms() <= MOST_ATOMS:
        return False
    return all(atom.GetAtomicNum() in ELEMENTS for atom in molecule.GetAtoms())


def different_smiles() -> Iterator[str]:
    """SMILES without end, none of them twice: those of the datasets in a fixed order, then each in another order."""
    known: dict[str, None] = {}
    for name in DATASETS:
        known |= dict.fromkeys(PackedGraphs.load(data_root() / f"{name}.npz").smiles or [])
    texts = list(known)
    np.random.default_rng(0).shuffle(texts)
    with rdBase.BlockLogs():
        kept = [(text, molecule) for text in texts if usual(molecule := Chem.MolFromSmiles(text))]
    yield from (text for text, _ in kept)
    seed = 0
    while True:
        seed += 1
        rdBase.SeedRandomNumberGenerator(seed)
        for _, molecule in kept:
            text = Chem.MolToSmiles(molecule, doRandom=True, canonical=False)
            if text not in known:
                known[text] = None
                yield text


def write_tables(work: Path, molecules: int) -> tuple[Path, Path]:
    """A table to train on and one to predict on."""
    train, data = work / "train.csv", work / f"molecules-{molecules}.csv"
    smiles = different_smiles()
    draw = np.random.default_rng(0)
    with train.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", "y"])
        some = islice(smiles, TRAINED_ON)
        writer.writerows([text, f"{len(text) / 10 + draw.normal():.3f}"] for text in some)
    with data.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles"])
        writer.writerows([text] for text in islice(smiles, molecules))
    return train, data


def run(command: list[str], output: Path, *, priority: int | None) -> Cost:
    """Run a command in a session of its own, and watch all processes of that session."""
    output.unlink(missing_ok=True)
    begin = time.perf_counter()
    log = output.with_suffix(".log")
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
    if priority is not None:
        Path(f"/proc/{process.pid}/autogroup").write_text(str(priority))
    ticks: dict[int, int] = {}
    peak = 0
    while process.poll() is None:
        peak = max(peak, watch(process.pid, ticks))
        time.sleep(POLL)
    seconds = time.perf_counter() - begin
    if process.returncode or not output.exists():
        raise SystemExit(f"{command} failed with code {process.returncode}; see {log}")
    with output.open(newline="") as file:
        rows = sum(1 for _ in csv.reader(file)) - 1
    return Cost(seconds, sum(ticks.values()) / TICKS, peak, rows)


def watch(session: int, ticks: dict[int, int]) -> int:
    """Note the processor time of each process of a session, and return the bytes that they hold together."""
    held = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(words[3]) == session:
            ticks[int(stat.parent.name)] = int(words[11]) + int(words[12])
            held += int(words[21]) * os.sysconf("SC_PAGE_SIZE")
    return held


def table(record: dict[str, Any]) -> str:
    """The record as documents hold it: medians over rounds."""
    rows, rates = [], {}
    for contender in CONTENDERS:
        costs = [Cost(**cost) for cost in record["costs"].get(contender.name, [])]
        if not costs:
            continue
        rates[contender.name] = [cost.rows / cost.seconds for cost in costs]
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
            text.append(
                f"{kind.capitalize()}: {statistics.median(ratios):.1f} times chemprop's rate"
                f" ({', '.join(f'{ratio:.1f}' for ratio in ratios)} in {len(ratios)} rounds)."
            )
    return "\n\n".join(text)


def written(page: str, record: Path = RESULTS / f"{NAME}.json") -> str:
    """The page with the table of the record."""
    return with_table(page, NAME, table(json.loads(record.read_text())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, help="the peer's")
    parser.add_argument("--work", type=Path, help="folder for tables, models and outputs")
    parser.add_argument("--molecules", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[c.name for c in CONTENDERS], help="names of contenders")
    parser.add_argument("--priority", type=int, default=None, help="of each command over others (Linux: autogroup)")
    parser.add_argument("--name", default=NAME, help="of the record")
    parser.add_argument("--table", action="store_true", help="write the table of the last record into the docs instead")
    options = parser.parse_args()
    if options.table:
        PAGE.write_text(written(PAGE.read_text()))
        return
    options.work.mkdir(parents=True, exist_ok=True)
    train, data = write_tables(options.work, options.molecules)
    contenders = [contender for contender in CONTENDERS if contender.name in options.only]
    folders = {contender.name: options.work / contender.name.replace(" ", "-") for contender in contenders}
    for contender in contenders:
        if not folders[contender.name].exists():
            subprocess.run(contender.train(options.python, train, folders[contender.name]), check=True)
    costs: dict[str, list[dict[str, Any]]] = {contender.name: [] for contender in contenders}
    load = os.getloadavg()[0]
    for _ in range(options.rounds):
        for contender in contenders:
            output = options.work / f"{contender.name.replace(' ', '-')}.csv"
            command = contender.predict(options.python, folders[contender.name], data, output)
            cost = run(command, output, priority=options.priority)
            print(contender.name, cost, flush=True)
            costs[contender.name].append(asdict(cost))
        # Kept round by round: a run of hours may be cut short.
        record = {
            "command": f"python -m benchmarks.table_to_table --molecules {options.molecules} --rounds {options.rounds}",
            "load": [load, os.getloadavg()[0]],
            "priority": options.priority,
            "costs": costs,
        }
        path = keep(options.name, record)
    print(table(record))
    print(path)


if __name__ == "__main__":
    main()
