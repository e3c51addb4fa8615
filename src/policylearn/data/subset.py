"""Some graphs of a packed dataset, taken without a Python loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from policylearn.data.arrays import pointer
from policylearn.data.packed import Array, DataError, PackedGraphs, smiles_bytes
from policylearn.data.structures import Structure


def gather(ptr: Array, rows: Array) -> tuple[Array, Array]:
    """Where the chosen graphs' entries lie, one after the other, and the pointer of the result.

    Shapes:
        ptr ``(G + 1,)``, rows ``(R,)`` -> ``(total,)`` and ``(R + 1,)``, int64.
    """
    starts = ptr.take(rows).astype(np.int64)
    counts = ptr.take(rows + 1) - starts
    result = pointer(counts)
    return np.arange(result[-1]) + np.repeat(starts - result[:-1], counts), result


def check_indices(graphs: PackedGraphs, indices: Array | Sequence[int]) -> Array:
    """Indices as int64, or a `DataError` that names the first one outside the dataset."""
    rows = np.asarray(indices)
    if rows.ndim != 1 or not len(rows) or not np.issubdtype(rows.dtype, np.integer):
        raise DataError(
            f"graph indices must be a flat, non-empty list of integers, got shape {rows.shape} of {rows.dtype};"
            " np.flatnonzero turns a mask into indices"
        )
    if rows.min() < 0 or rows.max() >= len(graphs):
        wrong = rows[(rows < 0) | (rows >= len(graphs))][0]
        raise DataError(f"there is no graph {wrong}; the dataset has {len(graphs)} graphs (0 to {len(graphs) - 1})")
    return rows.astype(np.int64, copy=False)


def targets_are_per_node(graphs: PackedGraphs) -> bool:
    """Whether ``y`` has a row per node; one row per graph wins where both fit."""
    return len(graphs.y) != len(graphs)


def targets_of(graphs: PackedGraphs, rows: Array) -> Array:
    """The targets of some graphs, or of their nodes."""
    y: Array = graphs.y[gather(graphs.node_ptr, rows)[0] if targets_are_per_node(graphs) else rows]
    return y


def take_graphs(graphs: PackedGraphs, indices: Array | Sequence[int]) -> PackedGraphs:
    """The chosen graphs in the given order, with their structures, SMILES and atoms (see `prepare_molecules`).

    Other extras are left behind: nothing says which of them have a row per graph.
    """
    rows = check_indices(graphs, indices)
    node_rows, node_ptr = gather(graphs.node_ptr, rows)
    edge_rows, edge_ptr = gather(graphs.edge_ptr, rows)
    smiles = graphs.smiles
    known = {} if smiles is None else {"smiles": smiles_bytes([smiles[row] for row in rows])}
    if "atoms" in graphs.extras:
        known["atoms"] = graphs.extras["atoms"].take(node_rows)
    return replace(
        graphs,
        x=graphs.x.take(node_rows, axis=0),
        edge_index=graphs.edge_index.take(edge_rows, axis=1),
        edge_attr=graphs.edge_attr.take(edge_rows, axis=0),
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        y=graphs.y.take(node_rows if targets_are_per_node(graphs) else rows, axis=0),
        extras=known,
        structures=take_structures(graphs.structures, graphs, rows),
    )


def take_structures(structures: Mapping[str, Structure], graphs: PackedGraphs, rows: Array) -> dict[str, Structure]:
    """The structures of the chosen graphs; ids are local to their graph and stay."""
    taken = {}
    for name, structure in structures.items():
        chosen, ptr = gather(structure.pointer(graphs.node_ptr, graphs.edge_ptr), rows)
        own = not isinstance(structure.ptr, str)
        taken[name] = replace(structure, values=structure.values.take(chosen, 0), ptr=ptr if own else structure.ptr)
    return taken


def join_graphs(parts: Sequence[PackedGraphs]) -> PackedGraphs | None:
    """Several lists of graphs as one, with their structures and SMILES; None where there are none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    smiles = [part.smiles or [] for part in parts]
    known = {"smiles": smiles_bytes([text for texts in smiles for text in texts])} if any(smiles) else {}
    if any("atoms" in part.extras for part in parts):  # see `prepare_molecules`
        known["atoms"] = np.concatenate([part.extras.get("atoms", local_nodes(part)) for part in parts])
    return replace(
        parts[0],
        x=np.concatenate([part.x for part in parts]),
        edge_index=np.concatenate([part.edge_index for part in parts], axis=1),
        edge_attr=np.concatenate([part.edge_attr for part in parts]),
        node_ptr=join_pointers([part.node_ptr for part in parts]),
        edge_ptr=join_pointers([part.edge_ptr for part in parts]),
        y=np.concatenate([part.y for part in parts]),
        extras=known,
        structures=join_structures([part.structures for part in parts]),
    )


def local_nodes(graphs: PackedGraphs) -> Array:
    """The place of each node within its graph."""
    places: Array = np.arange(len(graphs.x)) - np.repeat(graphs.node_ptr[:-1], graphs.num_nodes)
    return places


def join_structures(parts: Sequence[Mapping[str, Structure]]) -> dict[str, Structure]:
    """The structures of consecutive graphs as those of all; ids are local to their graph and stay."""
    joined = {}
    for name, first in parts[0].items():
        values = np.concatenate([part[name].values for part in parts])
        own = [part[name].ptr for part in parts if not isinstance(part[name].ptr, str)]
        joined[name] = replace(first, values=values, ptr=join_pointers(own) if own else first.ptr)
    return joined


def join_pointers(pointers: Sequence[Any]) -> Array:
    """Where each graph's rows start, of consecutive lists of graphs."""
    return pointer(np.concatenate([np.diff(each) for each in pointers]))
