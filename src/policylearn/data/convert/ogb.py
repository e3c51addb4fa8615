"""OGB's folder layout: ``raw/*.csv.gz``, ``split/<kind>/*.csv.gz`` and, for molecules, ``mapping/mol.csv.gz``."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from policylearn.data.convert.numbers import read_column, read_numbers, read_pairs, read_text
from policylearn.data.convert.stacking import compact, constant_column, pointer
from policylearn.data.packed import Array, DataError, PackedGraphs, smiles_bytes

SPLIT_PARTS = ("train", "valid", "test")


def pack_ogb_folder(folder: str | Path, *, split: str | None = None, add_inverse_edge: bool = True) -> PackedGraphs:
    """Pack a graph-level dataset from the folder in which OGB ships it.

    Args:
        folder: holds ``raw``, ``split`` and perhaps ``mapping``.
        split: which folder of ``split`` to take; needed only where there are several.
        add_inverse_edge: OGB stores each edge once for the molecules and for ppa; every edge then gets its inverse
            right after it. False leaves the edges of a directed dataset (code2) as they are.
    """
    folder = Path(folder)
    raw = folder / "raw"
    nodes = read_column(raw / "num-node-list.csv.gz")
    edges = read_column(raw / "num-edge-list.csv.gz")
    y = read_numbers(raw / "graph-label.csv.gz", gaps=True)
    check_rows(raw / "num-edge-list.csv.gz", len(edges), len(nodes), "graph of num-node-list.csv.gz")
    check_rows(raw / "graph-label.csv.gz", len(y), len(nodes), "graph of num-node-list.csv.gz")
    for path, counts in ((raw / "num-node-list.csv.gz", nodes), (raw / "num-edge-list.csv.gz", edges)):
        if len(counts) and counts.min() < 0:
            line = int(np.argmin(counts))
            raise DataError(f"{path}, line {line + 1}: {counts[line]} is no count; it must be 0 or more")
    if not len(nodes):
        raise DataError(f"{raw / 'num-node-list.csv.gz'}: names no graphs; copy or fetch the dataset again")

    edge_index = read_pairs(raw / "edge.csv.gz")
    check_rows(raw / "edge.csv.gz", edge_index.shape[1], int(edges.sum()), "edge counted in num-edge-list.csv.gz")
    x = features(raw / "node-feat.csv.gz", int(nodes.sum()), np.int16, "node counted in num-node-list.csv.gz")
    edge_attr = features(raw / "edge-feat.csv.gz", edge_index.shape[1], np.int8, "edge of edge.csv.gz")
    if add_inverse_edge:
        both = np.stack([edge_index, edge_index[::-1]], axis=2)  # (2, e) -> (2, e, 2): an edge, then its inverse
        edge_index = both.reshape(2, -1)
        edge_attr = None if edge_attr is None else np.repeat(edge_attr, 2, axis=0)
        edges = 2 * edges
    return PackedGraphs(
        x=constant_column(int(nodes.sum())) if x is None else x,
        edge_index=compact(edge_index, np.int16),
        edge_attr=np.empty((edge_index.shape[1], 0), dtype=np.uint8) if edge_attr is None else edge_attr,
        node_ptr=pointer(nodes),
        edge_ptr=pointer(edges),
        y=y.astype(np.float32),
        extras=read_split(folder / "split", split, len(nodes)) | read_mapping(folder / "mapping", len(nodes)),
    ).validate(str(folder))


def check_rows(path: Path, rows: int, needed: int, of: str) -> None:
    """Raise unless a file has as many rows as another one calls for."""
    if rows != needed:
        raise DataError(
            f"{path}: has {rows} rows, but {needed} are needed, one per {of}; copy or fetch the dataset again"
        )


def features(path: Path, rows: int, floor: type[np.signedinteger], of: str) -> Array | None:
    """A feature file, where there is one: whole numbers as integers from ``floor`` on, others as float32."""
    if not path.exists():
        return None
    table = read_numbers(path)
    check_rows(path, len(table), rows, of)
    return compact(table, floor) if np.issubdtype(table.dtype, np.integer) else table.astype(np.float32)


def read_split(folder: Path, kind: str | None, graphs: int) -> dict[str, Array]:
    """Graph ids of train, valid and test; nothing where the dataset has no split folder."""
    kinds = sorted(entry.name for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
    if kind is None and not kinds:
        return {}
    if kind is None and len(kinds) > 1:
        raise DataError(f"{folder}: holds the splits {', '.join(kinds)}; name one of them with split=...")
    if kind is not None and kind not in kinds:
        raise DataError(f"{folder}: has no split {kind!r}, only {', '.join(kinds) or 'none at all'}; name one of those")
    parts = {}
    for part in SPLIT_PARTS:
        path = folder / (kind or kinds[0]) / f"{part}.csv.gz"
        ids = read_column(path)
        wrong = np.flatnonzero((ids < 0) | (ids >= graphs))
        if len(wrong):
            raise DataError(
                f"{path}, line {wrong[0] + 1}: graph {ids[wrong[0]]} does not exist, ids run from 0 to {graphs - 1};"
                " copy or fetch the dataset again"
            )
        parts[part] = compact(ids, np.int32)
    return parts


def read_mapping(folder: Path, graphs: int) -> dict[str, Array]:
    """The SMILES of ``mapping/mol.csv.gz``, exactly as written there; nothing where the graphs are no molecules."""
    path = folder / "mol.csv.gz"
    if not path.exists():
        return {}
    try:
        table = list(csv.reader(io.StringIO(read_text(path), newline=""), strict=True))
    except csv.Error as error:
        raise DataError(f"{path}: is no valid CSV ({error}); copy or fetch the dataset again") from error
    header, rows = (table[0], table[1:]) if table else ([], [])
    if "smiles" not in header:
        raise DataError(f"{path}, line 1: names no column 'smiles' (there are {', '.join(header)}); add that name")
    column = header.index("smiles")
    smiles = [row[column] if column < len(row) else "" for row in rows if row]
    check_rows(path, len(smiles), graphs, "graph of num-node-list.csv.gz")
    try:
        return {"smiles": smiles_bytes(smiles)}
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
