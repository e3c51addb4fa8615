"""Where the real data is, and small graphs to break."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from policylearn.data import PackedGraphs

Stored = Callable[[str], Path]


@pytest.fixture(scope="session")
def stored() -> Stored:
    """Path of a stored file; skips where the data root is not there."""

    def find(name: str) -> Path:
        root = os.environ.get("POLICYLEARN_DATA", "")
        path = Path(root) / name
        if not root or not path.exists():
            pytest.skip(f"{name} is not in the data root; set POLICYLEARN_DATA to the folder that holds it")
        return path

    return find


@pytest.fixture
def three_graphs() -> PackedGraphs:
    """A triangle, a lone node and a path of two, with features and number targets."""
    return PackedGraphs(
        x=np.arange(12, dtype=np.uint8).reshape(6, 2),
        edge_index=np.array([[0, 1, 2, 0, 0, 1], [1, 2, 0, 2, 1, 0]], dtype=np.int16),
        edge_attr=np.arange(6, dtype=np.uint8),
        node_ptr=np.array([0, 3, 4, 6], dtype=np.int32),
        edge_ptr=np.array([0, 4, 4, 6], dtype=np.int32),
        y=np.array([0.5, np.nan, -1.0], dtype=np.float32),
    )
