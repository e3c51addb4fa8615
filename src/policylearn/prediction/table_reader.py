"""The input of a prediction, some rows at a time: what each row keeps, its graph, or why it has none."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from policylearn.data import DataError, PackedGraphs, take_graphs
from policylearn.data.convert import TableRows, open_rows
from policylearn.data.packed import Array
from policylearn.data.preparation import PreparedMolecules, prepare_in_order
from policylearn.prediction.predictor import Predictor
from policylearn.training.evaluation import torch_threads

MOST_GRAPHS = 4096
"""Packed graphs that are answered together."""
CHUNK = 512
"""Rows that a process prepares at a time: with descriptors two or three seconds of work."""
TOGETHER = 64
"""Batches of a block, for models that look at the whole batch."""


@dataclass(frozen=True)
class Block:
    """Some rows of the input with the graphs of those that are good."""

    cells: list[list[str]]  # what each row keeps of the input
    errors: list[str]  # why a row cannot be predicted on; empty where it can
    graphs: PackedGraphs | None  # of the good ones, ready for the model; None where there are none
    owners: Array  # which of them each row of the model's answer belongs to
    answers: Array  # which row of the answer each good row gets
    position: int  # how far the input has been read, in bytes (a table) or graphs (a packed file)


@dataclass
class Chunk:
    """Rows of a table whose molecules are still to be read."""

    cells: list[list[str]]  # what each row keeps of the input
    errors: list[str]  # what is known to be wrong with a row before its molecule is read
    lines: list[int]  # of the file
    smiles: list[str]  # the molecules to be read, in order
    owners: list[int]  # which of them each row has; -1 where it has none
    position: int  # how far the input has been read, in bytes

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


@contextmanager
def open_blocks(
    predictor: Predictor, source: Path, smiles: str | None, workers: int
) -> Iterator[tuple[list[str], Iterator[Block]]]:
    """The columns and the blocks of a table of SMILES or of a packed ``.npz``, for the length of the block."""
    if source.suffix == ".npz":
        graphs = PackedGraphs.load(source)
        header = ["graph"] + ["node"] * (predictor.task.level == "node") + ["smiles"] * (graphs.smiles is not None)
        yield header, graph_blocks(predictor, graphs)
        return
    with (
        open_rows(source, smiles=molecule_column(predictor, source, smiles)) as rows,
        # Closed here, and not when it is collected: then its processes end where an error leaves this block.
        closing(table_blocks(predictor, rows, workers)) as blocks,
        torch_threads(threads_beside(workers)),
    ):
        yield rows.header, blocks


def molecule_column(predictor: Predictor, source: Path, smiles: str | None) -> str:
    """The column of molecules of a table: as it was said, or as in training."""
    if predictor.run.facts.featuriser is None:
        raise DataError(f"{source}: the run was trained on graphs and cannot read molecules; give a packed .npz")
    return smiles or predictor.run.config.data.smiles


def threads_beside(workers: int) -> int:
    """Threads for torch that leave a core to each reading process; 0 keeps all, beside one process or none."""
    return max(1, torch.get_num_threads() - workers) if workers > 1 else 0


def read_chunks(rows: TableRows, size: int, *, repeats: bool = False) -> Iterator[Chunk]:
    """The rows of a table, so many at a time; ``repeats`` reads a SMILES twice that stands twice in a chunk."""
    column, width, each = rows.smiles or "smiles", len(rows.header), iter(rows)
    while some := list(islice(each, size)):
        places: dict[tuple[str, int], int] = {}
        owners = [
            -1 if row.problem else places.setdefault((row.fields[column], row.line if repeats else 0), len(places))
            for row in some
        ]
        yield Chunk(
            cells=[[*row.cells, *[""] * width][:width] for row in some],
            errors=[f"line {row.line}: {row.problem}" if row.problem else "" for row in some],
            lines=[row.line for row in some],
            smiles=[text for text, _ in places],
            owners=owners,
            position=rows.lines.bytes,
        )


def table_blocks(predictor: Predictor, rows: TableRows, workers: int) -> Generator[Block]:
    """The rows of a table in blocks, prepared by several processes, in order.

    A model that looks at the whole batch gets blocks of whole batches.
    """
    whole = predictor.depends_on_batch
    chunks = read_chunks(rows, TOGETHER * predictor.batch_size(None) if whole else CHUNK, repeats=whole)
    transforms, parents = predictor.transforms, predictor.run.facts.parents
    for chunk, prepared in prepare_in_order(chunks, lambda chunk: chunk.smiles, transforms, workers, parents=parents):
        yield chunk.block(prepared)


def graph_blocks(predictor: Predictor, graphs: PackedGraphs) -> Iterator[Block]:
    """Packed graphs in blocks; node-level tasks have a row per node. See `table_blocks`."""
    misfits = predictor.misfits(graphs)
    per_node = predictor.task.level == "node"
    size = TOGETHER * predictor.batch_size(None) if predictor.depends_on_batch else MOST_GRAPHS
    for start in range(0, len(graphs), max(1, size)):
        chosen = range(start, min(start + size, len(graphs)))
        cells, errors = [], []
        for graph in chosen:
            kept = [] if graphs.smiles is None else [graphs.smiles[graph]]
            nodes = [[str(node)] for node in range(graphs.num_nodes[graph])] if per_node else [[]]
            cells += [[str(graph), *node, *kept] for node in nodes]
            errors += [f"graph {graph}: {misfits[graph]}" if graph in misfits else ""] * len(nodes)
        good = [graph for graph in chosen if graph not in misfits]
        packed = predictor.prepare(take_graphs(graphs, good)) if good else None
        owners = np.repeat(np.arange(len(good)), graphs.num_nodes[good] if per_node else 1)
        yield Block(cells, errors, packed, owners, np.arange(len(owners)), chosen.stop)
