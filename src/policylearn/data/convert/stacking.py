"""From arrays of all graphs to the packed form: pointers, narrow integers, and what stands for missing features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from policylearn.data.arrays import pointer
from policylearn.data.molecules import MoleculeGraph
from policylearn.data.packed import Array, DataError, PackedGraphs, smiles_bytes

INTEGERS: tuple[type[np.integer[Any]], ...] = (np.uint8, np.int8, np.int16, np.int32, np.int64)


def compact(values: Array, floor: DTypeLike = np.uint8) -> Array:
    """``values`` in the narrowest integer type from ``floor`` on that holds them all; other types stay as they are."""
    if not np.issubdtype(values.dtype, np.integer):
        return values
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    start = INTEGERS.index(np.dtype(floor).type)
    for kind in INTEGERS[start:]:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind, copy=False)
    return values


def single_precision(values: Array, what: str, source: str) -> Array:
    """Real numbers as float32; a number beyond its range raises."""
    wrong = values[np.abs(values) > np.finfo(np.float32).max]
    if wrong.size:
        raise DataError(f"{source}: {what} hold {wrong.flat[0]}, too large for single precision; scale them down")
    return values.astype(np.float32)


def pack_arrays(
    nodes: Sequence[int] | Array,
    edges: Sequence[int] | Array,
    edge_index: Array,
    *,
    x: Array | None,
    edge_attr: Array | None,
    y: Array | None,
    extras: Mapping[str, Array] | None = None,
    source: str,
) -> PackedGraphs:
    """Arrays of all graphs, one after the other, in the packed form; ``nodes`` and ``edges`` count those of each graph.

    Node ids are local to their graph. Without ``x`` nodes get a column of ones, without ``y`` graphs a missing label.
    """
    return PackedGraphs(
        x=np.ones((int(np.sum(nodes)), 1), dtype=np.uint8) if x is None else compact(x),
        edge_index=compact(edge_index, np.int16),
        edge_attr=np.empty((edge_index.shape[1], 0), dtype=np.uint8) if edge_attr is None else compact(edge_attr),
        node_ptr=pointer(nodes),
        edge_ptr=pointer(edges),
        y=np.full((len(nodes), 1), np.nan, dtype=np.float32) if y is None else y,
        extras=extras or {},
    ).validate(source)


def pack_molecules(
    molecules: Sequence[MoleculeGraph],
    y: Array | None = None,
    *,
    smiles: Sequence[str] | None = None,
    extras: Mapping[str, Array] | None = None,
    source: str = "the molecules",
) -> PackedGraphs:
    """Featurised molecules in the packed form; ``y`` has a row each, None leaves a missing label (NaN)."""
    if not molecules:
        raise DataError(f"{source}: there are no molecules to pack; give at least one")
    return pack_arrays(
        [len(molecule.x) for molecule in molecules],
        [molecule.edge_index.shape[1] for molecule in molecules],
        np.concatenate([molecule.edge_index for molecule in molecules], axis=1),
        x=np.concatenate([molecule.x for molecule in molecules]),
        edge_attr=np.concatenate([molecule.edge_attr for molecule in molecules]),
        y=y,
        extras=dict(extras or {}) | ({} if smiles is None else {"smiles": smiles_bytes(smiles)}),
        source=source,
    )
