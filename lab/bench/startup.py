"""What commands cost before they say anything: ``python -m lab.bench.startup``.

Every verb's ``--help``, a wrong option, ``datasets`` and ``info``: processor seconds of the whole command, the median
of some runs. ``train`` and ``predict`` on a small table: the same until ``train`` says what it read of its table, and
until ``predict`` begins to write.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from lab.bench.commands import ours, watch
from lab.bench.machine import keep
from policylearn.cli.registry import VERBS
from policylearn.wording import markdown_table

GOAL = 0.7
"""Processor seconds that a command without work may take."""
MOLECULES = ("CCO", "c1ccccc1", "CC(=O)O", "CCCCCC", "CCN", "Oc1ccccc1", "CCCl", "CC(C)O", "CCOCC", "CCCO") * 4


def whole(words: list[str]) -> float:
    """Processor seconds of a command; a wrong option ends with 2, which is right."""
    before = os.times()
    ended = subprocess.run([*ours(), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if ended.returncode not in (0, 2):
        raise SystemExit(f"policylearn {' '.join(words)} ended with {ended.returncode}")
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def until(words: list[str], begun: Callable[[], bool] | None = None) -> float:
    """Processor seconds until a command's work has begun, by default until it first says something."""
    process = psutil.Popen([*ours(), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if begun is None:
        process.stdout.read(1)
    while begun is not None and not begun():
        if process.poll() is not None and not begun():
            raise SystemExit(f"policylearn {' '.join(words)} ended too early: {process.stdout.read().decode()}")
        time.sleep(0.005)
    used: dict[int, float] = {}
    watch(process, used)
    process.terminate()
    process.wait()
    return sum(used.values())


def until_it_writes(words: list[str], folder: Path) -> float:
    """Processor seconds until a command begins a file in a folder that is made for it."""
    folder.mkdir()
    return until([*words, "-o", str(folder / "out.csv")], lambda: any(folder.iterdir()))


def measure(rounds: int) -> dict[str, Any]:
    """All commands, one after the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, run = folder / "some.csv", folder / "run"
        rows = [f"{smiles},{len(smiles) + number / 10}" for number, smiles in enumerate(MOLECULES)]
        table.write_text("\n".join(["smiles,y", *rows]) + "\n")
        training = ["train", str(table), "--target", "y", "--data.split", "random", "--network-only"]
        subprocess.run([*ours(), *training, "--epochs", "1", "-o", str(run)], check=True)
        silent = [[*verb.split(), "--help"] for verb in VERBS]
        silent += [["train", "--nosuch"], ["datasets"], ["info", str(run)]]
        spent = {" ".join(words).replace(str(run), "RUN"): [whole(words) for _ in range(rounds)] for words in silent}
        predict = ["predict", str(run), str(table)]
        waits = {
            "predict": [until_it_writes(predict, folder / f"answers-{turn}") for turn in range(rounds)],
            "train": [until([*training, "-o", str(folder / "again")]) for _ in range(rounds)],
        }
    return {"processor_seconds": spent, "until_it_begins": waits, "load": os.getloadavg()[0]}


def table(record: dict[str, Any]) -> str:
    """The record as the page holds it."""
    spent = {name: statistics.median(values) for name, values in record["processor_seconds"].items()}
    rows = [(f"`{name}`", f"{value:.2f}") for name, value in spent.items()]
    rows += [
        (f"`{name} TABLE`, until its work is under way", f"{statistics.median(values):.2f}")
        for name, values in record["until_it_begins"].items()
    ]
    missed = [name for name, value in spent.items() if value > GOAL]
    verdict = f"Above {GOAL} s: {', '.join(missed)}." if missed else f"None takes {GOAL} s of a processor."
    where = f"Commit {record['machine']['commit']}, {record['machine']['processor']}, load {record['load']:.1f}."
    return f"{markdown_table(('command', 'seconds of a processor'), rows)}\n\n{verdict} {where}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    print(keep("startup", measure(parser.parse_args().rounds)))
