"""What a measurement has to say about where it was made, and where it is kept."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
RESULTS = PROJECT / "benchmarks" / "results"
PACKAGES = ("policylearn", "torch", "torch-geometric", "numpy")


def describe_machine() -> dict[str, Any]:
    """Processor, memory, versions, threads and commit."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "system": platform.system(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "threads": os.environ.get("OMP_NUM_THREADS", "not set"),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "commit": commit(),
    }


def processor() -> str:
    """The processor's name where the system tells it, else its architecture."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return names[0].split(":", 1)[1].strip() if names else platform.machine()


def commit() -> str:
    """The commit that is checked out, marked where source files differ from it; "unknown" outside a checkout."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=PROJECT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "src", "benchmarks/*.py")
        return git("rev-parse", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def keep(name: str, result: dict[str, Any]) -> Path:
    """Write a result with the machine's description to ``benchmarks/results/NAME.json``."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": describe_machine(), **result}, indent=2) + "\n")
    return path
