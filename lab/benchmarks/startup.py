"""What commands cost before they say anything: ``python -m lab.benchmarks.startup``.

Every verb's ``--help``, a wrong option, ``datasets`` and ``info``: processor seconds of the whole command, the median
of some runs, one after the other. ``train`` and ``predict`` on a small table: seconds of the clock until the work is
under way: when ``train`` says what it read of its table, and when ``predict`` begins to write. The table goes to
docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from lab.benchmarks.machine import PROJECT, RESULTS, keep
from lab.benchmarks.page import PAGE, with_table
from lab.benchmarks.table_to_table import ours
from policylearn.cli.main import ROOT
from policylearn.wording import markdown_table

NAME = "startup"
GOAL = 0.7
"""Processor seconds that a command without work may take."""
MOLECULES = ("CCO", "c1ccccc1", "CC(=O)O", "CCCCCC", "CCN", "Oc1ccccc1", "CCCl", "CC(C)O", "CCOCC", "CCCO") * 4


def processor_seconds() -> float:
    """Of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def whole(words: list[str]) -> float:
    """Processor seconds of a command; a wrong option ends with 2, which is right."""
    before = processor_seconds()
    ended = subprocess.run([*ours(), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if ended.returncode not in (0, 2):
        raise SystemExit(f"policylearn {' '.join(words)} ended with {ended.returncode}")
    return processor_seconds() - before


def until_it_speaks(words: list[str]) -> float:
    """Seconds of the clock until a command first says something; then it is stopped."""
    begin = time.perf_counter()
    with subprocess.Popen([*ours(), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None, "it was asked for"
        process.stdout.read(1)
        seconds = time.perf_counter() - begin
        process.terminate()
    return seconds


def until_it_writes(words: list[str], folder: Path) -> float:
    """Seconds of the clock until a command begins a file in a folder that is made for it; then it is stopped."""
    folder.mkdir()
    begin = time.perf_counter()
    with subprocess.Popen([*ours(), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not any(folder.iterdir()):
            if process.poll() is not None:
                raise SystemExit(f"policylearn {' '.join(words)} ended without writing")
            time.sleep(0.005)
        seconds = time.perf_counter() - begin
        process.terminate()
    return seconds


def write_table(path: Path) -> Path:
    """A few molecules with a number each."""
    rows = [f"{smiles},{len(smiles) + number / 10}" for number, smiles in enumerate(MOLECULES)]
    path.write_text("\n".join(["smiles,y", *rows]) + "\n")
    return path


def measure(rounds: int) -> dict[str, Any]:
    """All commands, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        table, run = write_table(Path(folder) / "some.csv"), Path(folder) / "run"
        training = ["train", str(table), "--target", "y", "--data.split", "random", "--no-baseline"]
        made = subprocess.run([*ours(), *training, "--epochs", "1", "-o", str(run)], capture_output=True, check=False)
        if made.returncode:
            raise SystemExit(f"no model could be trained: {made.stderr.decode()}")
        silent = [[verb.name, "--help"] for verb in ROOT.actions] + [
            ["train", "--nosuch"],
            ["datasets"],
            ["info", str(run)],
        ]
        answers = [Path(folder) / f"answers-{turn}" for turn in range(rounds)]
        spent = {" ".join(words).replace(str(run), "RUN"): [whole(words) for _ in range(rounds)] for words in silent}
        waits = {
            "predict": [
                until_it_writes(["predict", str(run), str(table), "-o", str(place / "out.csv")], place)
                for place in answers
            ],
            "train": [until_it_speaks([*training, "-o", str(Path(folder) / "again")]) for _ in range(rounds)],
        }
    return {"processor_seconds": spent, "seconds_until_it_begins": waits, "load": os.getloadavg()[0]}


def table(record: dict[str, Any]) -> str:
    """The record as the page holds it."""
    spent = {name: statistics.median(values) for name, values in record["processor_seconds"].items()}
    rows = [(f"`{name}`", f"{value:.2f}") for name, value in spent.items()]
    rows += [
        (f"`{name} TABLE`, until its work is under way", f"{statistics.median(values):.1f} of the clock")
        for name, values in record["seconds_until_it_begins"].items()
    ]
    missed = [name for name, value in spent.items() if value > GOAL]
    verdict = f"Above {GOAL} s: {', '.join(missed)}." if missed else f"None takes {GOAL} s of a processor."
    where = f"Commit {record['machine']['commit']}, {record['machine']['processor']}, load {record['load']:.1f}."
    return f"{markdown_table(('command', 'seconds of a processor'), rows)}\n\n{verdict} {where}"


def main() -> None:
    parser = argparse.ArgumentParser(description="what commands cost before they say anything")
    parser.add_argument("--rounds", type=int, default=3)
    path = keep(NAME, measure(parser.parse_args().rounds))
    print(shown := table(json.loads(path.read_text())))
    PAGE.write_text(with_table(PAGE.read_text(), NAME, shown))
    print(RESULTS / path.name, PAGE.relative_to(PROJECT))


if __name__ == "__main__":
    main()
