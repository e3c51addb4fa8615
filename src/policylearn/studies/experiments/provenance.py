"""Where a figure comes from: machine and commit."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch


def describe_machine() -> dict[str, Any]:
    """Processor, cores, threads and system."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": f"{platform.machine()} {platform.system()} Python {platform.python_version()}",
    }


def processor() -> str:
    """The processor's name where the system tells it, else its kind."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit(*more: Path) -> str:
    """The commit of this code, marked where files differ from it; "unknown" outside a checkout.

    Args:
        more: what else must not differ, beside the package: files and folders of the checkout; a name may have a `*`.
    """
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, check=True, capture_output=True, text=True).stdout.strip()

    try:
        name = git("rev-parse", "HEAD")
        return name + (
            " with changes" if git("status", "--porcelain", "--", str(here.parents[1]), *map(str, more)) else ""
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
