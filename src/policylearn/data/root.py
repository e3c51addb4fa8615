"""Where datasets live on this machine."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "POLICYLEARN_DATA"


def data_root() -> Path:
    """The folder of the packed datasets: ``POLICYLEARN_DATA``, else `cache_folder`."""
    stated = os.environ.get(VARIABLE)
    return Path(stated).expanduser() if stated else cache_folder()


def cache_folder() -> Path:
    """``policylearn`` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "policylearn"
