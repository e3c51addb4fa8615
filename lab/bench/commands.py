"""Commands that are timed, with all processes that they start."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import psutil

POLL = 0.2


def ours() -> list[str]:
    """``policylearn``, of the same installation as this script."""
    return [sys.executable, "-m", "policylearn"]


def children_seconds() -> float:
    """Processor seconds of all processes that this one has started and that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
    begin, before, log, peak = time.perf_counter(), children_seconds(), output.with_suffix(".log"), 0
    with log.open("w") as file:
        process = psutil.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        while process.poll() is None:
            with suppress(psutil.NoSuchProcess):  # one has ended meanwhile
                family = (process, *process.children(recursive=True))
                peak = max(peak, sum(one.memory_info().rss for one in family))
            time.sleep(POLL)
    seconds = time.perf_counter() - begin
    if process.returncode or not output.exists():
        raise SystemExit(f"{command} failed with code {process.returncode}; see {log}")
    return Cost(seconds, children_seconds() - before, peak, len(pd.read_csv(output)))
