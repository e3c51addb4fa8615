"""Structures: named arrays of a dataset besides its graphs (encodings, counts, rings, distances)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from policylearn.data.arrays import Array, DataError, check_finite, check_pointer, place

StructureLevel = Literal["node", "edge", "graph"]
LEVELS: tuple[str, ...] = get_args(StructureLevel)
FINGERPRINT = "fingerprint"
"""The structure that holds counts of substructures; no network reads it, so that batches leave it out."""
REAL_COLUMNS = "x_real"
"""The one name with a meaning: float columns of the nodes, which the network reads beside ``x``."""

PREFIX = "structure"
TAKEN = {"x", "edge_index", "edge_attr", "y", "batch", "ptr", "index", "face", "pos", "num_nodes", "num_edges"}


@dataclass(frozen=True)
class Structure:
    """Rows that belong to graphs, stacked over the graphs of a dataset.

    A row is a node, an edge or a graph, or something of which every graph has its own number (rings, pairs of nodes):
    then ``ptr`` says where each graph's rows start. Things of varying size are written as pairs: rings as a structure
    "ring" with a row per ring, "ring_node" that points to "node" and "ring_id" that points to "ring", both with one row
    for each node of each ring.

    Args:
        values: numbers, finite.
        ptr: "node", "edge" or "graph", or the start of each graph's rows and a final total.
        points_to: None, "node", "edge" or the name of another structure: then ``values`` are row ids local to the
            graph, and batching adds the offset of that graph's rows in the batch.

    Shapes:
        values ``(R, ...)``, ptr ``(G + 1,)`` integers.
    """

    values: Array
    ptr: Array | StructureLevel
    points_to: str | None = None

    def pointer(self, node_ptr: Array, edge_ptr: Array) -> Array:
        """Where each graph's rows start, ``(G + 1,)``, whatever the level."""
        if isinstance(self.ptr, str):
            return {"node": node_ptr, "edge": edge_ptr, "graph": np.arange(len(node_ptr))}[self.ptr]
        return self.ptr


def check_structures(structures: Mapping[str, Structure], node_ptr: Array, edge_ptr: Array, source: str) -> None:
    """Raise a `DataError` that names the first structure that is wrong, the graph, the value and the remedy."""
    check_pointers(structures, node_ptr, edge_ptr, source)
    for name, structure in structures.items():
        check_finite(_flat(structure.values), structure.pointer(node_ptr, edge_ptr), name, source)
        if structure.points_to is not None:
            _check_ids(name, structures, node_ptr, edge_ptr, source)
    real = structures.get(REAL_COLUMNS)
    if real is not None and (not np.issubdtype(real.values.dtype, np.floating) or real.values.ndim != 2):
        raise DataError(
            f"{source}: structure '{REAL_COLUMNS}' must hold float columns of the nodes, shape (N, k); got shape"
            f" {real.values.shape} of {real.values.dtype}"
        )


def check_pointers(structures: Mapping[str, Structure], node_ptr: Array, edge_ptr: Array, source: str) -> None:
    """Raise where a structure has an invalid name, no numbers, or a wrong number of rows or graphs."""
    for name, structure in structures.items():
        check_name(name, source)
        label, values = f"{source}: structure '{name}'", structure.values
        if isinstance(structure.ptr, str) and structure.ptr not in LEVELS:
            raise DataError(f"{label}: 'ptr' must be node, edge, graph or a list of starts (got {structure.ptr!r})")
        if values.ndim == 0 or values.dtype.kind not in "biuf":
            raise DataError(f"{label} must hold rows of numbers, got shape {values.shape} of {values.dtype}")
        pointer = structure.pointer(node_ptr, edge_ptr)
        check_pointer(pointer, len(values), f"{name}: ptr", name, source)
        if len(pointer) != len(node_ptr):
            raise DataError(
                f"{label} describes {len(pointer) - 1} graphs, not {len(node_ptr) - 1}; give its pointer an entry each"
            )


def check_name(name: str, source: str) -> None:
    """Raise for a name that is no identifier, is taken, or that PyG would treat by a rule of its own."""
    if not re.fullmatch(r"[a-zA-Z]\w*", name):
        raise DataError(f"{source}: '{name}' is no name for a structure; use letters, digits and underscores")
    if name in TAKEN or name in LEVELS or name.endswith("_ptr") or re.search("index|batch|adj", name):
        raise DataError(
            f"{source}: a structure cannot be called '{name}': graphs have a meaning of their own for it (names with"
            " index, batch, adj or _ptr in them too); choose another"
        )


def _check_ids(name: str, structures: Mapping[str, Structure], node_ptr: Array, edge_ptr: Array, source: str) -> None:
    structure, label = structures[name], f"{source}: structure '{name}'"
    pointers = {"node": node_ptr, "edge": edge_ptr}
    pointers |= {other: one.pointer(node_ptr, edge_ptr) for other, one in structures.items()}
    target = str(structure.points_to)
    if target not in pointers:
        raise DataError(f"{label} points to '{target}', which is not there; it can point to {', '.join(pointers)}")
    if not np.issubdtype(structure.values.dtype, np.integer):
        raise DataError(f"{label} points to '{target}' and must hold integers, got {structure.values.dtype}")
    limit = np.repeat(np.diff(pointers[target]), np.diff(pointers[name]))
    ids = _flat(structure.values).astype(np.int64)
    wrong = np.argwhere((ids < 0) | (ids >= limit[:, None]))
    if len(wrong):
        row, column = (int(i) for i in wrong[0])
        raise DataError(
            f"{label}: {place(row, pointers[name])} points to {target} {ids[row, column]}, but the graph has"
            f" {limit[row]} of them; ids must be local to their graph"
        )


def _flat(values: Array) -> Array:
    return values.reshape(len(values), int(np.prod(values.shape[1:])))


def structures_to_arrays(structures: Mapping[str, Structure]) -> dict[str, Array]:
    """Structures as named arrays of a file: ``structure/<name>/values``, ``.../ptr`` and ``.../points_to``."""
    arrays: dict[str, Array] = {}
    for name, structure in structures.items():
        arrays[f"{PREFIX}/{name}/values"] = structure.values
        arrays[f"{PREFIX}/{name}/ptr"] = np.asarray(structure.ptr)
        if structure.points_to is not None:
            arrays[f"{PREFIX}/{name}/points_to"] = np.asarray(structure.points_to)
    return arrays


def structures_from_arrays(arrays: dict[str, Array], source: str) -> dict[str, Structure]:
    """Take the arrays that `structures_to_arrays` named out of ``arrays``, and give the structures back."""
    parts: dict[str, dict[str, Array]] = {}
    for key in [key for key in arrays if key.startswith(f"{PREFIX}/")]:
        _, name, part = key.split("/", 2) if key.count("/") == 2 else ("", key, "")
        parts.setdefault(name, {})[part] = arrays.pop(key)
    structures = {}
    for name, found in parts.items():
        if not {"values", "ptr"} <= found.keys() <= {"values", "ptr", "points_to"}:
            raise DataError(f"{source}: structure '{name}' needs values and ptr (got {', '.join(sorted(found))})")
        ptr = found["ptr"]
        target = str(found["points_to"]) if "points_to" in found else None
        structures[name] = Structure(found["values"], str(ptr) if ptr.ndim == 0 else ptr, target)  # type: ignore[arg-type]
    return structures
