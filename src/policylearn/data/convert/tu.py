"""TUDataset's text layout: ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and their companions, ids from 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policylearn.data.convert.numbers import read_column, read_numbers, read_pairs
from policylearn.data.convert.stacking import compact, constant_column, pointer
from policylearn.data.packed import Array, DataError, PackedGraphs

WIDEST_ONE_HOT = 10_000


def pack_tu_folder(folder: str | Path, name: str | None = None, *, attributes: bool = True) -> PackedGraphs:
    """Pack a dataset from TUDataset's text files.

    Features are as PyG reads them: the attributes, followed by one column for each label from the smallest to the
    largest, as float32 (``x``, and ``edge_attr`` in the same way). Nodes without either get a constant column.
    ``y`` holds the graph attributes where there are any (float32, a column each), else class ids 0 to C - 1 in the
    order of the labels, which are kept in ``extras["label_values"]``. Edges keep the order of the file within their
    graph; self loops and double edges stay.

    Args:
        folder: where the files lie.
        name: what their names start with; needed only where the folder holds several datasets.
        attributes: False leaves the attributes of nodes and edges out, as PyG's ``TUDataset`` does by default.
    """
    folder = Path(folder)
    stem = folder / (name or find_name(folder))
    graph = read_indicator(file_of(stem, "graph_indicator"))
    nodes = np.bincount(graph)
    y, extras = read_targets(stem, len(nodes))
    edge_index, owner = read_edges(file_of(stem, "A"), graph)
    order = np.argsort(owner, kind="stable")
    starts = pointer(nodes)
    x = read_features(stem, "node", len(graph), attributes)
    edge_attr = read_features(stem, "edge", edge_index.shape[1], attributes)
    return PackedGraphs(
        x=constant_column(len(graph)) if x is None else x,
        edge_index=compact((edge_index - starts[owner])[:, order], np.int16),
        edge_attr=np.empty((len(owner), 0), dtype=np.uint8) if edge_attr is None else edge_attr[order],
        node_ptr=starts,
        edge_ptr=pointer(np.bincount(owner, minlength=len(nodes))),
        y=y,
        extras=extras,
    ).validate(str(folder))


def file_of(stem: Path, part: str) -> Path:
    """``folder/NAME`` and ``A`` to ``folder/NAME_A.txt``."""
    return stem.with_name(f"{stem.name}_{part}.txt")


def find_name(folder: Path) -> str:
    """The one dataset that a folder holds."""
    names = sorted(path.name.removesuffix("_A.txt") for path in folder.glob("*_A.txt"))
    if len(names) != 1:
        held = f"several datasets ({', '.join(names)})" if names else "no file NAME_A.txt"
        raise DataError(f"{folder}: holds {held}; give the folder of the unpacked dataset and its name")
    return names[0]


def read_indicator(path: Path) -> Array:
    """The graph of every node, ids from 0, ``(N,)``; raise unless nodes lie graph by graph."""
    indicator = read_column(path)
    if not len(indicator):
        raise DataError(f"{path}: names no nodes; copy or fetch the dataset again")
    if indicator[0] != 1:
        raise DataError(f"{path}, line 1: the first node is of graph {indicator[0]}; graphs count from 1, in order")
    steps = np.diff(indicator)
    wrong = np.flatnonzero((steps < 0) | (steps > 1))
    if len(wrong):
        before, after = (int(indicator[wrong[0] + step]) for step in (0, 1))
        remedy = "sort the nodes by graph" if after < before else "number graphs without a gap; each needs a node"
        raise DataError(f"{path}, line {wrong[0] + 2}: graph {after} follows graph {before}; {remedy}")
    return indicator - 1


def read_targets(stem: Path, graphs: int) -> tuple[Array, dict[str, Array]]:
    """Targets and, for labels, what stands behind the class ids."""
    attributes, labels = file_of(stem, "graph_attributes"), file_of(stem, "graph_labels")
    if attributes.exists():
        values = read_numbers(attributes).astype(np.float32)
        check_rows(attributes, len(values), graphs, "graph")
        return values, {}
    if not labels.exists():
        raise DataError(
            f"{stem.parent}: holds neither {labels.name} nor {attributes.name}; one of them gives the targets"
        )
    classes, ids = np.unique(read_column(labels), return_inverse=True)
    check_rows(labels, len(ids), graphs, "graph")
    return ids.astype(np.int64), {"label_values": classes}


def read_edges(path: Path, graph: Array) -> tuple[Array, Array]:
    """Edges with node ids from 0 over all graphs, ``(2, E)``, and the graph of each, ``(E,)``."""
    edges = read_pairs(path) - 1
    outside = np.flatnonzero(((edges < 0) | (edges >= len(graph))).any(axis=0))
    if len(outside):
        first, second = edges[:, outside[0]] + 1
        raise DataError(
            f"{path}, line {outside[0] + 1}: joins nodes {first} and {second}, but node ids run from 1 to {len(graph)};"
            f" correct the edge, or the node list {path.name.removesuffix('A.txt')}graph_indicator.txt"
        )
    owner = graph[edges]
    across = np.flatnonzero(owner[0] != owner[1])
    if len(across):
        (first, second), (left, right) = edges[:, across[0]] + 1, owner[:, across[0]] + 1
        raise DataError(
            f"{path}, line {across[0] + 1}: joins node {first} of graph {left} and node {second} of graph {right};"
            " an edge must stay within one graph: correct it or the graph indicator"
        )
    return edges, owner[0]


def read_features(stem: Path, of: str, rows: int, with_attributes: bool) -> Array | None:
    """Attributes, where wanted, and one-hot labels of nodes or edges, ``(rows, width)``; None where there are none."""
    parts = []
    attributes, labels = file_of(stem, f"{of}_attributes"), file_of(stem, f"{of}_labels")
    if with_attributes and attributes.exists():
        values = read_numbers(attributes)
        check_rows(attributes, len(values), rows, of)
        parts.append(values.astype(np.float32))
    if labels.exists():
        values = read_numbers(labels, integers=True)
        check_rows(labels, len(values), rows, of)
        parts += [one_hot(column, labels) for column in values.T]
    return np.concatenate(parts, axis=1) if parts else None


def one_hot(labels: Array, path: Path) -> Array:
    """A column for each whole number from the smallest to the largest label, float32, ``(rows, width)``."""
    low, high = (int(labels.min()), int(labels.max())) if len(labels) else (0, -1)
    if high - low >= WIDEST_ONE_HOT:
        raise DataError(
            f"{path}: labels run from {low} to {high}, which would make {high - low + 1} columns;"
            f" number them from 0 without gaps, or move them to {path.name.replace('_labels', '_attributes')}"
        )
    return np.equal(labels[:, None], np.arange(low, high + 1)).astype(np.float32)


def check_rows(path: Path, rows: int, needed: int, of: str) -> None:
    """Raise unless a file has one row for each graph, node or edge."""
    if rows != needed:
        raise DataError(f"{path}: has {rows} rows for {needed} {of}s; give each {of} one row, in order")
