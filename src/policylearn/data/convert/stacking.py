"""From arrays of each graph to the flat arrays of a dataset: pointers, compact integers, SMILES as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

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


def pointer(counts: Iterable[int] | Array) -> Array:
    """Where each graph's rows start, ``(G + 1,)``, from how many rows each has."""
    return compact(np.concatenate([[0], np.cumsum(np.asarray(counts, dtype=np.int64))]).astype(np.int64), np.int32)


def constant_column(nodes: int) -> Array:
    """The feature of nodes that have none: ones, ``(nodes, 1)``."""
    return np.ones((nodes, 1), dtype=np.uint8)


def pack_molecules(
    molecules: Sequence[MoleculeGraph],
    y: Array | None = None,
    *,
    smiles: Sequence[str] | None = None,
    extras: Mapping[str, Array] | None = None,
    source: str = "the molecules",
) -> PackedGraphs:
    """Featurised molecules in the packed form, in the types that OGB's datasets have there.

    Args:
        molecules: one graph each.
        y: targets, a row per molecule; None leaves one missing label (NaN) each.
        smiles: what the molecules were made from, to be kept with them.
        extras: further arrays of the dataset, such as splits.
        source: names the molecules in errors.
    """
    if not molecules:
        raise DataError(f"{source}: there are no molecules to pack; give at least one")
    targets = np.full((len(molecules), 1), np.nan, dtype=np.float32) if y is None else y
    known = dict(extras or {}) | ({} if smiles is None else {"smiles": smiles_bytes(smiles)})
    return PackedGraphs(
        x=np.concatenate([molecule.x for molecule in molecules]),
        edge_index=compact(np.concatenate([molecule.edge_index for molecule in molecules], axis=1), np.int16),
        edge_attr=np.concatenate([molecule.edge_attr for molecule in molecules]),
        node_ptr=pointer([len(molecule.x) for molecule in molecules]),
        edge_ptr=pointer([molecule.edge_index.shape[1] for molecule in molecules]),
        y=targets,
        extras=known,
    ).validate(source)
