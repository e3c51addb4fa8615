"""Where a figure comes from: machine, memory, versions and commit."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import torch

import policylearn
from policylearn.settings.provenance import system, versions

__all__ = ["commit", "describe_machine", "versions"]
PROJECT = Path(__file__).parents[1]
RESULTS = PROJECT / "results" / "bench"


def describe_machine() -> dict[str, Any]:
    """Processor, cores, threads and system."""
    threads = torch.get_num_threads()
    return {"processor": processor(), "cores": os.cpu_count(), "threads": threads, "system": system()}


def processor() -> str:
    """The processor's name where the system tells it, else its kind."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit() -> str:
    """The commit of package and lab, marked where files differ from it; "unknown" outside a checkout."""
    package = Path(policylearn.__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=package, check=True, capture_output=True, text=True).stdout.strip()

    try:
        changes = git("status", "--porcelain", "--", str(package), str(PROJECT / "lab"))
        return git("rev-parse", "HEAD") + (" with changes" if changes else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a record says of how it was made; here and now, where nothing else is given.

    Args:
        machine: one line in records of version 0.1.
    """

    machine: dict[str, Any] | str = field(default_factory=describe_machine)
    versions: dict[str, str] = field(default_factory=versions)
    commit: str = field(default_factory=commit)


def describe() -> dict[str, Any]:
    """Date, machine, memory and commit."""
    date, memory = datetime.now(UTC).date().isoformat(), round(psutil.virtual_memory().total / 2**30, 1)
    return {"date": date, **describe_machine(), "memory_gib": memory, "commit": commit()}


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
