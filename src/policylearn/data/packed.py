"""The packed form: every graph of a dataset in a few flat arrays, one ``.npz`` per dataset, no pickle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from policylearn.data.arrays import Array as Array
from policylearn.data.arrays import DataError as DataError
from policylearn.data.arrays import as_table as as_table
from policylearn.data.arrays import check_finite, check_pointer, place
from policylearn.data.arrays import read_arrays as read_arrays
from policylearn.data.atomic import replacing
from policylearn.data.structures import Structure, check_structures, structures_from_arrays, structures_to_arrays

GRAPH_ARRAYS = ("x", "edge_index", "edge_attr", "node_ptr", "edge_ptr", "y")


@dataclass(frozen=True)
class PackedGraphs:
    """Graphs as flat arrays with pointers; node ids in ``edge_index`` are local to their graph.

    Args:
        x: node features of all graphs, one below the other.
        edge_index: source and target of every directed edge.
        edge_attr: edge features, in the order of ``edge_index``; zero columns where there are none.
        node_ptr: where each graph's nodes start.
        edge_ptr: where each graph's edges start.
        y: targets, a row per graph (node-level tasks: a row per node). NaN is a missing label.
        extras: everything else that the file holds (splits, SMILES, names of the targets).
        structures: named arrays that batches carry (see `Structure`): what transforms computed.

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
    structures: Mapping[str, Structure] = field(default_factory=dict)

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

    def global_edges(self) -> Array:
        """Source and target of every edge with node ids that count through all graphs, ``(2, E)`` int64."""
        first = np.repeat(self.node_ptr[:-1].astype(np.int64), self.num_edges)
        ends: Array = self.edge_index + first
        return ends

    @property
    def smiles(self) -> list[str] | None:
        """The molecules that the graphs were made from, where the file holds them."""
        return bytes(self.extras["smiles"]).decode().split("\n") if "smiles" in self.extras else None

    def validate(self, source: str = "the graphs") -> PackedGraphs:
        """Return self, or raise a `DataError` that names the first graph that is wrong, its value and the remedy."""
        for name in ("x", "edge_index", "edge_attr", "y"):
            values = getattr(self, name)
            if values.ndim not in (1, 2) or values.dtype.kind not in "biuf":
                raise DataError(
                    f"{source}: '{name}' must hold numbers in one or two axes, got shape {values.shape} of"
                    f" {values.dtype}; encode words as numbers and flatten further axes before packing"
                )
        edges = self.edge_index.shape[-1]
        if self.edge_index.shape != (2, edges) or not np.issubdtype(self.edge_index.dtype, np.integer):
            raise DataError(
                f"{source}: 'edge_index' must hold integers of shape (2, E), got shape {self.edge_index.shape} of"
                f" {self.edge_index.dtype}; transpose it, or make node ids whole numbers"
            )
        check_pointer(self.node_ptr, len(self.x), "node_ptr", "x", source)
        check_pointer(self.edge_ptr, edges, "edge_ptr", "edge_index", source)
        if len(self.edge_ptr) != len(self.node_ptr):
            raise DataError(
                f"{source}: 'node_ptr' has {len(self)} graphs, 'edge_ptr' {len(self.edge_ptr) - 1}; they must agree"
            )
        if len(self.edge_attr) != edges:
            raise DataError(
                f"{source}: 'edge_attr' has {len(self.edge_attr)} rows for {edges} edges;"
                " give one row for each column of 'edge_index' (shape (E, 0) where there are no features)"
            )
        if len(self.y) not in (len(self), len(self.x)):
            raise DataError(
                f"{source}: 'y' has {len(self.y)} rows; give one per graph ({len(self)}) or per node ({len(self.x)})"
            )
        self._check_edges(source)
        check_finite(self.x, self.node_ptr, "x", source)
        check_finite(self.edge_attr, self.edge_ptr, "edge_attr", source)
        check_structures(self.structures, self.node_ptr, self.edge_ptr, source)
        if "smiles" in self.extras:
            check_smiles(self.extras["smiles"], len(self), source)
        return self

    def _check_edges(self, source: str) -> None:
        limit = np.repeat(self.num_nodes, self.num_edges)
        ids = self.edge_index.astype(np.int64, copy=False)
        wrong = np.flatnonzero(((ids < 0) | (ids >= limit)).any(axis=0))
        if len(wrong):
            edge = int(wrong[0])
            raise DataError(
                f"{source}: {place(edge, self.edge_ptr, 'edge')} joins nodes {ids[0, edge]} and {ids[1, edge]}, but the"
                f" graph has {limit[edge]} nodes (ids 0 to {limit[edge] - 1}); node ids must be local to their graph"
            )

    def save(self, path: str | Path) -> None:
        """Write one compressed ``.npz``, atomically: the file is whole or absent."""
        path = Path(path)
        arrays = {name: getattr(self, name) for name in GRAPH_ARRAYS} | dict(self.extras)
        arrays |= structures_to_arrays(self.structures)
        with replacing(path) as part, part.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @staticmethod
    def load(path: str | Path) -> PackedGraphs:
        """Read a file that `save` wrote, or one in the same layout."""
        path = Path(path)
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
        # numpy counts with signed integers; an unsigned one that is too large turns negative, and is refused
        graphs = {name: one.astype(np.int64) if one.dtype == np.uint64 else one for name, one in graphs.items()}
        structures = structures_from_arrays(arrays, str(path))
        return PackedGraphs(**graphs, extras=arrays, structures=structures).validate(str(path))


def check_smiles(stored: Array, graphs: int, source: str) -> None:
    """Raise a `DataError` where what `smiles_bytes` gave does not hold one SMILES per graph."""
    if stored.dtype != np.uint8 or stored.ndim != 1:
        raise DataError(
            f"{source}: 'smiles' must hold bytes (uint8) in one axis, got shape {stored.shape} of {stored.dtype};"
            " store the SMILES as UTF-8, separated by line ends"
        )
    lines = int(np.count_nonzero(stored == ord("\n"))) + 1 if graphs or len(stored) else 0
    if lines != graphs:
        raise DataError(f"{source}: 'smiles' holds {lines} lines for {graphs} graphs; give each graph one, or none")
    try:
        bytes(stored).decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{source}: 'smiles' are not UTF-8 ({error.reason} at byte {error.start})") from error


def smiles_bytes(smiles: Sequence[str]) -> Array:
    """SMILES as one array of bytes, separated by line ends, so that no file needs a pickle."""
    for graph, text in enumerate(smiles):
        if "\n" in text:
            raise DataError(f"graph {graph}: SMILES {text!r} holds a line end; remove it")
    return np.frombuffer("\n".join(smiles).encode(), dtype=np.uint8)
