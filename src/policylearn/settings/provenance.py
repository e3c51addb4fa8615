"""What a run was made with: kind of machine and versions."""

from __future__ import annotations

import platform
from importlib.metadata import version

PACKAGES = ("policylearn", "torch", "torch-geometric", "lightning", "numpy", "rdkit", "ogb")
"""Those on which figures depend."""


def system() -> str:
    """Kind of machine, system and Python."""
    return f"{platform.machine()} {platform.system()} Python {platform.python_version()}"


def versions(*more: str) -> dict[str, str]:
    """The installed versions of `PACKAGES` and of ``more``."""
    return {name: version(name) for name in (*PACKAGES, *more)}
