"""Commands that are timed, with all processes that they start."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

POLL = 0.2


def ours() -> list[str]:
    """``policylearn``, of the same installation as this script."""
    return [sys.executable, "-c", "import sys; from policylearn.cli import main; sys.exit(main(sys.argv[1:]))"]


@dataclass(frozen=True)
class Cost:
    """What one run of a command took.

    Args:
        processor: seconds of all processors and processes.
        peak_bytes: the most that its processes held together, shared pages counted in each.
    """

    seconds: float
    processor: float
    peak_bytes: int
    rows: int


def run(command: list[str], output: Path) -> Cost:
    """Run a command that writes a table, and watch it and the processes that it starts."""
    output.unlink(missing_ok=True)
    begin, log = time.perf_counter(), output.with_suffix(".log")
    used: dict[int, float] = {}
    peak = 0
    with log.open("w") as file:
        process = psutil.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        while process.poll() is None:
            peak = max(peak, watch(process, used))
            time.sleep(POLL)
    seconds = time.perf_counter() - begin
    if process.returncode or not output.exists():
        raise SystemExit(f"{command} failed with code {process.returncode}; see {log}")
    with output.open(newline="") as file:
        rows = sum(1 for _ in csv.reader(file)) - 1
    return Cost(seconds, sum(used.values()), peak, rows)


def watch(process: psutil.Process, used: dict[int, float]) -> int:
    """Note the processor seconds of a process and its children, and return the bytes that they hold together."""
    held = 0
    try:
        for one in (process, *process.children(recursive=True)):
            times = one.cpu_times()
            used[one.pid] = times.user + times.system
            held += one.memory_info().rss
    except psutil.NoSuchProcess:  # it has ended meanwhile
        pass
    return held
