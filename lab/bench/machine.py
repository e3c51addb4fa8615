"""Where a measurement was made, and where it is kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from lab.provenance import commit, describe_machine, versions

PROJECT = Path(__file__).parents[2]
RESULTS = PROJECT / "results" / "bench"


def describe() -> dict[str, Any]:
    """Date, machine, memory and commit."""
    date, memory = datetime.now(UTC).date().isoformat(), round(psutil.virtual_memory().total / 2**30, 1)
    return {"date": date, **describe_machine(), "memory_gib": memory, "commit": commit(PROJECT / "lab" / "bench")}


def keep(name: str, result: dict[str, Any]) -> Path:
    """Write a result with date, machine, memory, versions and commit to ``results/bench/NAME.json``."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": describe() | {"versions": versions("numba")}, **result}, indent=2) + "\n")
    return path


def forget_peak() -> None:
    """Measure the peak of memory from here on; Linux alone can tell."""
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """Most bytes that this process has held since `forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if "VmHWM" in line)
