"""Plain arrays: reading them from files, and checking pointers and numbers."""

from __future__ import annotations

import hashlib
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

Array = NDArray[Any]

# What numpy and zipfile raise over a damaged archive, depending on where the damage is.
UNREADABLE = (
    ValueError, TypeError, OSError, EOFError, KeyError, RuntimeError, SyntaxError, MemoryError, OverflowError,
    struct.error, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


class DataError(ValueError):
    """Input that cannot be used; the message names the place, the value and the remedy."""


def read_arrays(path: Path, only: Sequence[str] | None = None) -> dict[str, Array]:
    """Arrays of an ``.npz``, or those of ``only``; a `DataError` where it is damaged, foreign or holds objects."""
    try:
        # Opened here: numpy leaves its own handle open when the archive turns out to be broken.
        with path.open("rb") as file:
            content = np.load(file, allow_pickle=False)
            if not isinstance(content, NpzFile):
                raise ValueError("it holds a single array without a name")
            return {name: content[name] for name in content.files if only is None or name in only}
    except UNREADABLE as error:
        raise DataError(
            f"{path}: not a readable .npz of plain arrays ({error}); it may be truncated or hold pickled objects:"
            " remove it and convert or fetch the dataset again"
        ) from error


def digest(arrays: Mapping[str, Array], words: str = "") -> str:
    """SHA-256 over named arrays and ``words``: equal for equal content, whatever integer width or byte order."""
    found = hashlib.sha256(words.encode())
    for name, values in arrays.items():
        if values.dtype.kind == "U":
            found.update(f"{name} {values.tolist()}\n".encode())
            continue
        plain = values.astype("<i8" if np.issubdtype(values.dtype, np.integer) else "<f8")
        found.update(f"{name} {plain.shape} {plain.dtype.str}\n".encode())
        found.update(np.ascontiguousarray(plain).data)
    return found.hexdigest()


def pointer(lengths: Array | Sequence[int]) -> Array:
    """Where each piece starts when pieces of these lengths lie one after the other, with the total at the end."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def as_table(values: Array) -> Array:
    """A flat list as a table of one column, ``(R,)`` -> ``(R, 1)``; a table stays as it is, even without rows."""
    return values[:, None] if values.ndim == 1 else values


def check_pointer(starts: Array, total: int, name: str, of: str, source: str) -> None:
    """Raise unless ``starts`` rises from 0 to ``total``."""
    if starts.ndim != 1 or len(starts) == 0 or not np.issubdtype(starts.dtype, np.integer):
        raise DataError(f"{source}: '{name}' must be a list of integers with G + 1 entries, got shape {starts.shape}")
    falls = np.flatnonzero(np.diff(starts.astype(np.int64)) < 0)
    if len(falls):
        raise DataError(f"{source}: {name} falls from {starts[falls[0]]} to {starts[falls[0] + 1]} in graph {falls[0]}")
    if starts[0] != 0 or starts[-1] != total:
        raise DataError(f"{source}: '{name}' must run from 0 to {total}, as '{of}' (got {starts[0]} to {starts[-1]})")


def place(row: int, starts: Array, what: str = "row") -> str:
    """The graph that a row belongs to, and its number in there."""
    graph = int(np.searchsorted(starts, row, side="right")) - 1
    return f"graph {graph}, {what} {row - int(starts[graph])}"


def check_finite(values: Array, starts: Array, name: str, source: str) -> None:
    """Raise a `DataError` that names graph, row and column of the first value that is NaN or infinite."""
    table = as_table(values)
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row, column = (int(i) for i in bad[0])
        raise DataError(
            f"{source}: {place(row, starts, f'{name} row')}, column {column} is {table[row, column]};"
            " fill in or drop missing features before packing"
        )
