"""TUDataset's text layout: ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and their companions, ids from 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from policylearn.data.arrays import pointer
from policylearn.data.convert.numbers import check_rows, read_integers, read_numbers
from policylearn.data.convert.stacking import pack_arrays, single_precision
from policylearn.data.packed import Array, DataError, PackedGraphs

WIDEST_ONE_HOT = 10_000


def pack_tu_folder(folder: str | Path, name: str | None = None, *, attributes: bool = True) -> PackedGraphs:
    """Pack a dataset from TUDataset's text files.

    Features are as PyG reads them: the attributes, followed by one column for each label from the smallest to the
    largest, as float32. ``y`` holds the graph attributes where there are any (float32, a column each), else class ids 0
    to C - 1 in the order of the labels, which are kept in ``extras["label_values"]``. Unlike PyG, graphs without edges,
    self loops and double edges stay.

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
    edge_index = read_edges(file_of(stem, "A"), graph)
    edge_attr = read_features(stem, "edge", edge_index.shape[1], attributes)
    owner = graph[edge_index[0]]
    order = np.argsort(owner, kind="stable")
    return pack_arrays(
        nodes,
        np.bincount(owner, minlength=len(nodes)),
        (edge_index - pointer(nodes)[owner])[:, order],
        x=read_features(stem, "node", len(graph), attributes),
        edge_attr=None if edge_attr is None else edge_attr[order],
        y=y,
        extras=extras,
        source=str(folder),
    )


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
    graph: Array = read_integers(path)[:, 0] - 1
    if not len(graph):
        raise DataError(f"{path}: names no nodes; copy or fetch the dataset again")
    steps = np.diff(graph, prepend=0)
    wrong = (steps < 0) | (steps > 1)
    wrong[0] = graph[0] != 0
    if wrong.any():
        line = int(wrong.argmax())
        raise DataError(f"{path}, line {line + 1}: graph {graph[line] + 1} is out of order; count from 1, in order")
    return graph


def read_targets(stem: Path, graphs: int) -> tuple[Array, dict[str, Array]]:
    """Targets and, for labels, what stands behind the class ids."""
    attributes, labels = file_of(stem, "graph_attributes"), file_of(stem, "graph_labels")
    if attributes.exists():
        return read_attributes(attributes, graphs, "graph"), {}
    if not labels.exists():
        raise DataError(f"{stem.parent}: holds neither {labels.name} nor {attributes.name}; targets need one of them")
    classes, ids = np.unique(read_integers(labels)[:, 0], return_inverse=True)
    check_rows(labels, len(ids), graphs, "graph")
    return ids.astype(np.int64), {"label_values": classes}


def read_attributes(path: Path, rows: int, of: str) -> Array:
    """A row of real numbers for each graph, node or edge, float32."""
    values = read_numbers(path)
    check_rows(path, len(values), rows, of)
    return single_precision(values, "attributes", str(path))


def read_edges(path: Path, graph: Array) -> Array:
    """Edges with node ids from 0 over all graphs, ``(2, E)``."""
    edges = read_integers(path, columns=2).T - 1
    outside = (edges < 0) | (edges >= len(graph))
    owner = graph[np.where(outside, 0, edges)]
    wrong = np.flatnonzero(outside.any(axis=0) | (owner[0] != owner[1]))
    if len(wrong):
        first, second = edges[:, wrong[0]] + 1
        raise DataError(
            f"{path}, line {wrong[0] + 1}: joins nodes {first} and {second}, which are not nodes of one graph (node ids"
            f" run from 1 to {len(graph)}); correct the edge or the graph indicator"
        )
    return edges


def read_features(stem: Path, of: str, rows: int, with_attributes: bool) -> Array | None:
    """Attributes, where wanted, and one-hot labels of nodes or edges, ``(rows, width)``; None where there are none."""
    parts = []
    attributes, labels = file_of(stem, f"{of}_attributes"), file_of(stem, f"{of}_labels")
    if with_attributes and attributes.exists():
        parts.append(read_attributes(attributes, rows, of))
    if labels.exists():
        values = read_numbers(labels)
        check_rows(labels, len(values), rows, of)
        parts += [one_hot(column, labels) for column in values.T]
    return np.concatenate(parts, axis=1) if parts else None


def one_hot(labels: Array, path: Path) -> Array:
    """A column for each whole number from the smallest to the largest label, float32, ``(rows, width)``."""
    low, high = (labels.min(), labels.max()) if len(labels) else (0, -1)
    if not (np.issubdtype(labels.dtype, np.integer) and high - low < WIDEST_ONE_HOT):
        raise DataError(
            f"{path}: labels run from {low} to {high}; number them from 0 without gaps, or move them to"
            f" {path.name.replace('_labels', '_attributes')}"
        )
    return np.equal(labels[:, None], np.arange(low, high + 1)).astype(np.float32)
