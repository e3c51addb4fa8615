"""A Ray cluster of two cores for the tests of a file, and its processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psutil
import pytest

WHY = "Ray is not installed here; 'make test-ray' installs the extra and runs these tests"


def two_cores() -> Iterator[Any]:
    """Ray with two cores, until the last test of the file."""
    ray = pytest.importorskip("ray", reason=WHY)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def workers(name: str) -> list[psutil.Process]:
    """Processes of this cluster whose actor has that name."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.name().startswith("ray::") and f"ray::{name}" in " ".join(process.cmdline()):
                found.append(process)
        except psutil.NoSuchProcess:  # it ended while we looked
            pass
    return found
