"""A command that is timed, with all processes that it starts."""

from __future__ import annotations

import csv
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

POLL = 0.2
TICKS = os.sysconf("SC_CLK_TCK")


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

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / self.seconds

    @property
    def processor_ms(self) -> float:
        """Of a row."""
        return 1000 * self.processor / self.rows


def run(command: list[str], output: Path) -> Cost:
    """Run a command in a session of its own, and watch all processes of that session.

    Args:
        command: its words.
        output: the table that it writes.
    """
    output.unlink(missing_ok=True)
    begin = time.perf_counter()
    log = output.with_suffix(".log")
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
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
