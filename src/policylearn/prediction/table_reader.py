"""The input of a prediction, some rows at a time: what each row keeps, its graph, or why it has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from policylearn.data import DataError, PackedGraphs, pack_molecules, take_graphs
from policylearn.data.convert import TableRow, TableRows
from policylearn.data.molecules import MoleculeGraph, featurise
from policylearn.data.packed import Array
from policylearn.prediction.predictor import Predictor

MOST_ROWS = 4096
"""Rows held back for a batch to fill; among very many bad rows a batch is cut before it is full."""


@dataclass(frozen=True)
class Block:
    """Some rows of the input with the graphs of those that are good.

    Args:
        cells: what each row keeps of the input.
        errors: why a row cannot be predicted on; empty where it can.
        graphs: the good ones, in order; None where there are none.
        owners: which of them each good row belongs to.
        position: how far the input has been read, in bytes (a table) or graphs (a packed file).
    """

    cells: list[list[str]]
    errors: list[str]
    graphs: PackedGraphs | None
    owners: Array
    position: int


def molecule_blocks(rows: TableRows, size: int) -> Iterator[Block]:
    """The rows of a table in blocks of ``size`` good molecules each.

    Args:
        rows: the table, opened with its column of molecules.
        size: molecules of a block.
    """
    cells: list[list[str]] = []
    errors: list[str] = []
    molecules: list[MoleculeGraph] = []
    smiles: list[str] = []
    column = rows.smiles or "smiles"

    def block() -> Block:
        graphs = pack_molecules(molecules, smiles=smiles) if molecules else None
        return Block(cells, errors, graphs, np.arange(len(molecules)), rows.position)

    for row in rows:
        read = read_molecule(row, column)
        cells.append([*row.cells, *[""] * len(rows.header)][: len(rows.header)])
        errors.append(read if isinstance(read, str) else "")
        if not isinstance(read, str):
            molecules.append(read)
            smiles.append(row.fields[column])
        if len(molecules) == size or len(cells) == max(MOST_ROWS, 2 * size):
            yield block()
            cells, errors, molecules, smiles = [], [], [], []
    if cells:
        yield block()


def read_molecule(row: TableRow, column: str) -> MoleculeGraph | str:
    """The molecule of a row, or why there is none."""
    if row.problem:
        return f"line {row.line}: {row.problem}"
    try:
        return featurise(row.fields[column])
    except DataError as error:
        return f"line {row.line}: {error}"


def graph_blocks(
    predictor: Predictor, graphs: PackedGraphs, size: int, smiles: Sequence[str] | None
) -> Iterator[Block]:
    """Packed graphs in blocks of ``size`` good ones each; node-level tasks have a row per node.

    Args:
        predictor: says which graphs are good.
        graphs: all of them.
        size: graphs of a block.
        smiles: what they were made from, where that is known.
    """
    misfits = predictor.misfits(graphs)
    per_node = predictor.task.level == "node"
    start, good = 0, 0
    for end in range(1, len(graphs) + 1):
        good += end - 1 not in misfits
        if good < size and end < len(graphs) and end - start < max(MOST_ROWS, 2 * size):
            continue
        chosen = range(start, end)
        fine = [graph for graph in chosen if graph not in misfits]
        cells, errors = [], []
        for graph in chosen:
            kept = [smiles[graph]] if smiles is not None else []
            nodes = [[str(node)] for node in range(graphs.num_nodes[graph])] if per_node else [[]]
            cells += [[str(graph), *node, *kept] for node in nodes]
            errors += [f"graph {graph}: {misfits[graph]}" if graph in misfits else ""] * len(nodes)
        counts = graphs.num_nodes[fine] if per_node else np.ones(len(fine), dtype=np.int64)
        packed = take_graphs(graphs, fine) if fine else None
        yield Block(cells, errors, packed, np.repeat(np.arange(len(fine)), counts), end)
        start, good = end, 0
