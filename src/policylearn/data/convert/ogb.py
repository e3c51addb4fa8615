"""OGB's folder layout: ``raw/*.csv.gz``, ``split/<kind>/*.csv.gz`` and, for molecules, ``mapping/mol.csv.gz``."""

from __future__ import annotations

import csv
import gzip
import zlib
from pathlib import Path

import numpy as np

from policylearn.data.convert.numbers import check_rows, read_integers, read_numbers
from policylearn.data.convert.stacking import pack_arrays, single_precision
from policylearn.data.packed import Array, DataError, PackedGraphs, smiles_bytes
from policylearn.data.splits import PARTS


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
    nodes = read_counts(raw / "num-node-list.csv.gz")
    edges = read_counts(raw / "num-edge-list.csv.gz")
    y = read_numbers(raw / "graph-label.csv.gz", gaps=True)
    edge_index = read_integers(raw / "edge.csv.gz", columns=2).T
    check_rows(raw / "num-edge-list.csv.gz", len(edges), len(nodes), "graph")
    check_rows(raw / "graph-label.csv.gz", len(y), len(nodes), "graph")
    check_rows(raw / "edge.csv.gz", edge_index.shape[1], int(edges.sum()), "edge")
    if not len(nodes):
        raise DataError(f"{raw / 'num-node-list.csv.gz'}: names no graphs; copy or fetch the dataset again")
    edge_attr = read_features(raw / "edge-feat.csv.gz", edge_index.shape[1], "edge")
    if add_inverse_edge:
        edge_index = np.stack([edge_index, edge_index[::-1]], axis=2).reshape(2, -1)  # an edge, then its inverse
        edge_attr = None if edge_attr is None else np.repeat(edge_attr, 2, axis=0)
        edges = 2 * edges
    return pack_arrays(
        nodes,
        edges,
        edge_index,
        x=read_features(raw / "node-feat.csv.gz", int(nodes.sum()), "node"),
        edge_attr=edge_attr,
        y=single_precision(y, "targets", str(raw / "graph-label.csv.gz")),
        extras=read_split(folder / "split", split, len(nodes)) | read_mapping(folder / "mapping", len(nodes)),
        source=str(folder),
    )


def read_counts(path: Path) -> Array:
    """How many nodes or edges each graph has, ``(G,)``."""
    counts: Array = read_integers(path)[:, 0]
    if len(counts) and counts.min() < 0:
        line = int(counts.argmin())
        raise DataError(f"{path}, line {line + 1}: {counts[line]} is no count; it must be 0 or more")
    return counts


def read_features(path: Path, rows: int, of: str) -> Array | None:
    """A feature file, where there is one: whole numbers as integers, others as float32."""
    if not path.exists():
        return None
    table = read_numbers(path)
    check_rows(path, len(table), rows, of)
    return table if np.issubdtype(table.dtype, np.integer) else single_precision(table, "features", str(path))


def read_split(folder: Path, kind: str | None, graphs: int) -> dict[str, Array]:
    """Graph ids of train, valid and test; nothing where the dataset has no split folder."""
    kinds = sorted(entry.name for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
    if kind is None and not kinds:
        return {}
    chosen = kinds[0] if kind is None and len(kinds) == 1 else kind
    if chosen not in kinds:
        raise DataError(f"{folder}: has the splits {', '.join(kinds)} (got {kind!r}); name one of them with split=...")
    parts = {}
    for part in PARTS:
        path = folder / chosen / f"{part}.csv.gz"
        ids = read_integers(path)[:, 0]
        wrong = np.flatnonzero((ids < 0) | (ids >= graphs))
        if len(wrong):
            raise DataError(
                f"{path}, line {wrong[0] + 1}: graph {ids[wrong[0]]} is not in 0 .. {graphs - 1}; fetch the data again"
            )
        parts[part] = ids.astype(np.int32)
    return parts


def read_mapping(folder: Path, graphs: int) -> dict[str, Array]:
    """The SMILES of ``mapping/mol.csv.gz``, exactly as written there; nothing where the graphs are no molecules."""
    path = folder / "mol.csv.gz"
    if not path.exists():
        return {}
    try:
        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
            smiles = [row["smiles"] or "" for row in csv.DictReader(file, strict=True)]
        stored = smiles_bytes(smiles)
    except KeyError as error:
        raise DataError(f"{path}, line 1: names no column 'smiles'; add that name") from error
    except (csv.Error, ValueError, OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error}); copy or fetch the dataset again") from error
    check_rows(path, len(smiles), graphs, "graph")
    return {"smiles": stored}
