"""What several official archives have in common: index files, and graphs in the order train, valid, test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from policylearn.data.packed import Array, DataError, PackedGraphs

PARTS = {"train": "train", "valid": "val", "test": "test"}
BENCHMARKING_GNNS = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data"


def with_parts(graphs: PackedGraphs, sizes: list[int]) -> PackedGraphs:
    """Graphs that lie in the order train, valid, test, with that split written down."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    parts = {name: np.arange(ends[i], ends[i + 1], dtype=np.int32) for i, name in enumerate(PARTS)}
    return replace(graphs, extras=dict(graphs.extras) | parts)


def read_index(path: Path, graphs: int, of: str) -> Array:
    """All graph ids of an index file; they must be among the ``graphs`` of an archive."""
    ids = read_index_rows(path).reshape(-1)
    if ids.max() >= graphs:
        raise DataError(f"{path}: names graph {ids.max()}, but {of} has {graphs} graphs; fetch the archive again")
    return ids


def read_index_rows(path: Path) -> Array:
    """Graph ids of an index file, separated by commas, one line per fold, ``(folds, n)``."""
    try:
        lines = [line.strip().strip(",") for line in path.read_text().splitlines() if line.strip()]
        rows = [[int(word) for word in line.split(",")] for line in lines]
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise DataError(f"{path}: not a readable list of graph ids ({error}); fetch it again") from error
    if not rows or len({len(row) for row in rows}) > 1 or min(map(min, rows)) < 0:
        raise DataError(f"{path}: needs lines of equally many ids >= 0, separated by commas; fetch it again")
    return np.array(rows, dtype=np.int32)
