"""The command that is measured, and what processes cost."""

from __future__ import annotations

import resource
import sys


def ours() -> list[str]:
    """``policylearn``, of the same installation as this script."""
    return [sys.executable, "-m", "policylearn"]


def children_seconds() -> float:
    """Processor seconds of all processes that this one has started and that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
