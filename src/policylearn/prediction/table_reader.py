"""The input of a prediction, some rows at a time: what each row keeps, its graph, or why it has none."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from policylearn.data import PackedGraphs, join_graphs, take_graphs
from policylearn.data.convert import TableRow, TableRows
from policylearn.data.packed import Array
from policylearn.data.preparation import PreparedMolecules, prepare_in_order, prepare_molecules
from policylearn.data.transforms import Transform
from policylearn.prediction.predictor import Predictor

MOST_ROWS = 4096
"""Rows held back for a batch to fill; among very many bad rows a batch is cut before it is full."""
CHUNK = 512
"""Rows that a process prepares at a time: with descriptors two or three seconds of work."""


@dataclass(frozen=True)
class Block:
    """Some rows of the input with the graphs of those that are good.

    Args:
        cells: what each row keeps of the input.
        errors: why a row cannot be predicted on; empty where it can.
        graphs: of the good ones, ready for the model; None where there are none.
        owners: which of them each row of the model's answer belongs to.
        answers: which row of the answer each good row gets.
        position: how far the input has been read, in bytes (a table) or graphs (a packed file).
    """

    cells: list[list[str]]
    errors: list[str]
    graphs: PackedGraphs | None
    owners: Array
    answers: Array
    position: int


@dataclass
class Chunk:
    """Rows of a table whose molecules are still to be read; a SMILES that stands there twice is read once.

    Args:
        cells: what each row keeps of the input.
        errors: what is known to be wrong with a row before its molecule is read; empty where nothing is.
        lines: of the file.
        smiles: the different ones, in order.
        owners: which of them each row has; -1 where it has none.
        position: how far the input has been read, in bytes.
    """

    cells: list[list[str]]
    errors: list[str]
    lines: list[int]
    smiles: list[str]
    owners: list[int]
    position: int

    def block(self, prepared: PreparedMolecules) -> Block:
        """The rows with their molecules."""
        errors = [
            f"line {line}: {prepared.problems[owner]}" if owner in prepared.problems else error
            for error, line, owner in zip(self.errors, self.lines, self.owners, strict=True)
        ]
        good = np.array([at not in prepared.problems for at in range(len(self.smiles))], dtype=bool)
        place = np.cumsum(good) - 1
        answers = [int(place[owner]) for owner, error in zip(self.owners, errors, strict=True) if not error]
        graphs = np.arange(int(good.sum()))
        return Block(self.cells, errors, prepared.graphs, graphs, np.array(answers, dtype=np.int64), self.position)


def read_chunks(rows: TableRows, size: int) -> Iterator[Chunk]:
    """The rows of a table, so many at a time.

    Args:
        rows: the table, opened with its column of molecules.
        size: rows of a chunk.
    """
    column, width = rows.smiles or "smiles", len(rows.header)
    for some in batched_rows(rows, size):
        places: dict[str, int] = {}
        owners = [-1 if row.problem else places.setdefault(row.fields[column], len(places)) for row in some]
        yield Chunk(
            cells=[[*row.cells, *[""] * width][:width] for row in some],
            errors=[f"line {row.line}: {row.problem}" if row.problem else "" for row in some],
            lines=[row.line for row in some],
            smiles=list(places),
            owners=owners,
            position=rows.position,
        )


def batched_rows(rows: TableRows, size: int) -> Iterator[list[TableRow]]:
    """Lists of so many rows; the last may be shorter."""
    each = iter(rows)
    while some := list(islice(each, size)):
        yield some


def prepared_blocks(
    rows: TableRows, transforms: Sequence[Transform], workers: int, *, parents: bool
) -> Generator[Block]:
    """The rows of a table in blocks, prepared by several processes, in order.

    Args:
        rows: the table, opened with its column of molecules.
        transforms: of the run.
        workers: processes.
        parents: as in `prepare_molecules`.
    """
    chunks = read_chunks(rows, CHUNK)
    for chunk, prepared in prepare_in_order(chunks, lambda chunk: chunk.smiles, transforms, workers, parents=parents):
        yield chunk.block(prepared)


def molecule_blocks(predictor: Predictor, rows: TableRows, size: int) -> Generator[Block]:
    """The rows of a table in blocks of ``size`` good molecules each, for a model that looks at the whole batch.

    Args:
        predictor: the model.
        rows: the table, opened with its column of molecules.
        size: molecules of a block.
    """
    cells: list[list[str]] = []
    errors: list[str] = []
    molecules: list[PackedGraphs] = []
    column = rows.smiles or "smiles"

    def block() -> Block:
        joined, each = join_graphs(molecules), np.arange(len(molecules))
        graphs = None if joined is None else predictor.prepare(joined)
        return Block(cells, errors, graphs, each, each, rows.position)

    for row in rows:
        cells.append([*row.cells, *[""] * len(rows.header)][: len(rows.header)])
        problem = row.problem
        if not problem:
            read = prepare_molecules([row.fields[column]], (), predictor.run.facts.parents)
            problem = read.problems.get(0, "")
            molecules += [] if read.graphs is None else [read.graphs]
        errors.append(f"line {row.line}: {problem}" if problem else "")
        if len(molecules) == size or len(cells) == max(MOST_ROWS, 2 * size):
            yield block()
            cells, errors, molecules = [], [], []
    if cells:
        yield block()


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
        packed = predictor.prepare(take_graphs(graphs, fine)) if fine else None
        owners = np.repeat(np.arange(len(fine)), counts)
        yield Block(cells, errors, packed, owners, np.arange(len(owners)), end)
        start, good = end, 0
