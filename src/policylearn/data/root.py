"""Where datasets live on this machine."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "POLICYLEARN_DATA"


def data_root() -> Path:
    """The folder of the packed datasets: ``POLICYLEARN_DATA``, else a cache folder in the user's home."""
    stated = os.environ.get(VARIABLE)
    if stated:
        return Path(stated).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache).expanduser() if cache else Path.home() / ".cache") / "policylearn"
