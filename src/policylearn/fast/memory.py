"""Keep freed memory for the next step, in training and in predictions on tables."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Settings of glibc's ``mallopt``: how much may lie free at the end of the heap, and from where on it is not used."""
KEPT = 1 << 30


@cache
def keep_freed_memory() -> bool:
    """Let the C library keep up to a gigabyte that was freed, for the rest of the process; whether it can be told so.

    Otherwise, depending on what lies last on the heap, it hands the memory of each step back to the system, which has
    to clear every page of it again in the next step.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries do not have it
    return mallopt is not None and all(mallopt(name, KEPT) == 1 for name in (TRIM_THRESHOLD, MMAP_THRESHOLD))
