"""The packed form: every graph of a dataset in a few flat arrays, one ``.npz`` a dataset, no pickle."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from policylearn.data.atomic import replacing

Array = NDArray[Any]

GRAPH_ARRAYS = ("x", "edge_index", "edge_attr", "node_ptr", "edge_ptr", "y")
# What numpy and zipfile raise over a damaged archive, depending on where the damage is.
UNREADABLE = (
    ValueError, TypeError, OSError, EOFError, KeyError, RuntimeError, SyntaxError, MemoryError, OverflowError,
    struct.error, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


class DataError(ValueError):
    """Input that cannot be used; the message names the place, the value and the remedy."""


@dataclass(frozen=True)
class PackedGraphs:
    """Graphs as flat arrays with pointers; node ids in ``edge_index`` are local to their graph.

    Args:
        x: node features of all graphs, one below the other.
        edge_index: source and target of every directed edge, local ids.
        edge_attr: edge features, in the order of ``edge_index``; zero columns where there are none.
        node_ptr: where each graph's nodes start.
        edge_ptr: where each graph's edges start.
        y: targets, a row a graph (node-level tasks: a row a node). NaN is a missing label.
        extras: everything else that the file holds (splits, SMILES, names of the targets).

    Shapes:
        x ``(N,)`` or ``(N, F)``, edge_index ``(2, E)``, edge_attr ``(E,)`` or ``(E, D)``, node_ptr and edge_ptr
        ``(G + 1,)``, y ``(G,)`` or ``(G, K)``.
    """

    x: Array
    edge_index: Array
    edge_attr: Array
    node_ptr: Array
    edge_ptr: Array
    y: Array
    extras: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    @property
    def num_nodes(self) -> Array:
        """Nodes of each graph, (G,)."""
        return np.diff(self.node_ptr)

    @property
    def num_edges(self) -> Array:
        """Directed edges of each graph, (G,)."""
        return np.diff(self.edge_ptr)

    @property
    def smiles(self) -> list[str] | None:
        """The molecules that the graphs were made from, where the file holds them."""
        return bytes(self.extras["smiles"]).decode().split("\n") if "smiles" in self.extras else None

    def validate(self, source: str = "the graphs") -> PackedGraphs:
        """Return self, or raise a `DataError` that names the first graph that is wrong, its value and the remedy."""
        self._check_types(source)
        check_pointer(self.node_ptr, len(self.x), "node_ptr", "x", source)
        check_pointer(self.edge_ptr, self.edge_index.shape[-1], "edge_ptr", "edge_index", source)
        if self.edge_index.ndim != 2 or self.edge_index.shape[0] != 2:
            raise DataError(f"{source}: 'edge_index' must have shape (2, E), got {self.edge_index.shape}; transpose it")
        if len(self.edge_ptr) != len(self.node_ptr):
            raise DataError(
                f"{source}: 'node_ptr' describes {len(self)} graphs and 'edge_ptr' {len(self.edge_ptr) - 1};"
                " give both one entry a graph and a final total"
            )
        if len(self.edge_attr) != self.edge_index.shape[1]:
            raise DataError(
                f"{source}: 'edge_attr' has {len(self.edge_attr)} rows for {self.edge_index.shape[1]} edges;"
                " give one row for each column of 'edge_index' (shape (E, 0) where there are no features)"
            )
        if len(self.y) not in (len(self), len(self.x)):
            raise DataError(
                f"{source}: 'y' has {len(self.y)} rows for {len(self)} graphs and {len(self.x)} nodes;"
                " give one row a graph, or one a node"
            )
        self._check_edges(source)
        for name, values, pointer in (("x", self.x, self.node_ptr), ("edge_attr", self.edge_attr, self.edge_ptr)):
            check_finite(values, pointer, name, source)
        return self

    def _check_types(self, source: str) -> None:
        for name in ("x", "edge_index", "edge_attr", "y"):
            values = getattr(self, name)
            if values.ndim not in (1, 2) or not (np.issubdtype(values.dtype, np.number) or values.dtype == bool):
                raise DataError(
                    f"{source}: '{name}' must hold numbers in one or two axes, got shape {values.shape} of"
                    f" {values.dtype}; encode words as numbers and flatten further axes before packing"
                )
        if not np.issubdtype(self.edge_index.dtype, np.integer):
            raise DataError(
                f"{source}: 'edge_index' must hold integers, got {self.edge_index.dtype};"
                " make node ids whole numbers before packing"
            )

    def _check_edges(self, source: str) -> None:
        limit = np.repeat(self.num_nodes, self.num_edges)
        ids = self.edge_index.astype(np.int64, copy=False)
        wrong = np.flatnonzero(((ids < 0) | (ids >= limit)).any(axis=0))
        if len(wrong):
            edge = int(wrong[0])
            graph = int(np.searchsorted(self.edge_ptr, edge, side="right")) - 1
            raise DataError(
                f"{source}: graph {graph}, edge {edge - int(self.edge_ptr[graph])} joins nodes"
                f" {ids[0, edge]} and {ids[1, edge]}, but the graph has {self.num_nodes[graph]} nodes"
                f" (ids 0 to {self.num_nodes[graph] - 1}); node ids must be local to their graph"
            )

    def save(self, path: Path) -> None:
        """Write one compressed ``.npz``, atomically: the file is whole or absent."""
        arrays = {name: getattr(self, name) for name in GRAPH_ARRAYS} | dict(self.extras)
        with replacing(path) as part, part.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @staticmethod
    def load(path: Path) -> PackedGraphs:
        """Read a file that `save` wrote, or one in the same layout."""
        if not path.exists():
            raise DataError(f"{path}: no such file; check the path, or point POLICYLEARN_DATA at its folder")
        arrays = read_arrays(path)
        missing = [name for name in GRAPH_ARRAYS if name not in arrays]
        if missing:
            raise DataError(
                f"{path}: lacks {', '.join(missing)} (it holds {', '.join(sorted(arrays)) or 'nothing'});"
                " the packed layout needs x, edge_index, edge_attr, node_ptr, edge_ptr and y"
            )
        graphs = {name: arrays.pop(name) for name in GRAPH_ARRAYS}
        return PackedGraphs(**graphs, extras=arrays).validate(str(path))


def read_arrays(path: Path, only: Sequence[str] | None = None) -> dict[str, Array]:
    """Arrays of an ``.npz``, or a `DataError` where it is cut short, damaged, foreign or holds objects.

    Args:
        path: the file.
        only: read no others than these, where they are there; None reads all.
    """
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


def as_table(values: Array) -> Array:
    """A flat list as a table of one column, ``(R,)`` -> ``(R, 1)``; a table stays as it is, even without rows."""
    return values[:, None] if values.ndim == 1 else values


def check_pointer(pointer: Array, total: int, name: str, of: str, source: str) -> None:
    """Raise unless ``pointer`` rises from 0 to ``total``."""
    if pointer.ndim != 1 or len(pointer) == 0 or not np.issubdtype(pointer.dtype, np.integer):
        raise DataError(f"{source}: '{name}' must be a list of integers with G + 1 entries, got shape {pointer.shape}")
    falls = np.flatnonzero(np.diff(pointer.astype(np.int64)) < 0)
    if len(falls):
        raise DataError(
            f"{source}: '{name}' falls from {pointer[falls[0]]} to {pointer[falls[0] + 1]} at graph {falls[0]}"
        )
    if pointer[0] != 0 or pointer[-1] != total:
        raise DataError(
            f"{source}: '{name}' runs from {pointer[0]} to {pointer[-1]}, but '{of}' has {total} rows;"
            f" it must start at 0 and end at {total}"
        )


def check_finite(values: Array, pointer: Array, name: str, source: str) -> None:
    """Raise a `DataError` that names graph, row and column of the first value that is NaN or infinite."""
    if not np.issubdtype(values.dtype, np.floating):
        return
    table = as_table(values)
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row, column = (int(i) for i in bad[0])
        graph = int(np.searchsorted(pointer, row, side="right")) - 1
        raise DataError(
            f"{source}: graph {graph}, {name} row {row - int(pointer[graph])}, column {column} is"
            f" {table[row, column]}; fill in or drop missing features before packing"
        )
