"""Predict on a file: rows stream in, rows stream out, and the output is whole or absent."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from policylearn.data import DataError, PackedGraphs, pack_molecules, take_graphs
from policylearn.data.atomic import replacing
from policylearn.data.convert import Row, open_rows
from policylearn.data.molecules import MoleculeGraph, featurise
from policylearn.data.packed import Array
from policylearn.training.columns import AnswerColumns
from policylearn.training.predictor import Predictor

MOST_ROWS = 4096
"""Rows held back for a batch to fill; with long stretches of bad rows, batches are cut before they are full."""

Progress = Callable[[int, int], None]
"""Told the rows done and the bytes (of a table) or graphs (of a packed file) read."""


@dataclass(frozen=True)
class Wanted:
    """What to write besides the predictions.

    Args:
        batch_size: graphs looked at together; None takes the run's.
        picks: whether to write the picked nodes.
        samples: K > 0 writes the spread over K drawn bags.
        seed: of the draws.
    """

    batch_size: int | None = None
    picks: bool = False
    samples: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Written:
    """How many rows were written, how many of them without a prediction, and the columns that were added."""

    rows: int
    failed: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """Some rows of the input with the graphs of those that are good.

    Args:
        cells: what each row keeps of the input.
        errors: why a row cannot be predicted on; empty where it can.
        graphs: the good ones, in order; None where there are none.
        owners: which of them each good row belongs to.
        position: how far the input has been read.
    """

    cells: list[list[str]]
    errors: list[str]
    graphs: PackedGraphs | None
    owners: Array
    position: int


def predict_table(
    predictor: Predictor,
    source: Path,
    output: Path,
    wanted: Wanted | None = None,
    *,
    smiles: str | None = None,
    progress: Progress | None = None,
) -> Written:
    """Predict on a table of SMILES; each row comes out in its place, with its prediction or the reason for none.

    The file is read and written row by row, so it may be larger than memory.

    Args:
        predictor: the model.
        source: ``.csv`` or ``.tsv``, or either with ``.gz``.
        output: likewise; it appears once all rows are in it.
        wanted: what to write besides the predictions.
        smiles: the column of molecules; None takes the one that the run was trained on.
        progress: told how far it is.
    """
    wanted = wanted or Wanted()
    if predictor.run.facts.featuriser is None:
        raise DataError(f"{source}: the run was trained on graphs and cannot read molecules; give a packed .npz")
    column = smiles or predictor.run.config.data.smiles
    with open_rows(source, (column,)) as rows:
        blocks = molecule_blocks(rows, rows.header, column, predictor.batch_size(wanted.batch_size), rows.lines)
        columns = AnswerColumns(predictor.task, wanted.samples > 0, "picked_atoms" if wanted.picks else None)
        return write(predictor, output, rows.header, columns, blocks, wanted, progress)


def predict_packed(
    predictor: Predictor, source: Path, output: Path, wanted: Wanted | None = None, *, progress: Progress | None = None
) -> Written:
    """Predict on a packed file, a row a graph (node-level tasks: a row a node); the arguments are those of a table."""
    wanted = wanted or Wanted()
    graphs = PackedGraphs.load(source)
    per_node = predictor.task.level == "node"
    smiles = graphs.smiles
    header = ["graph", *(["node"] if per_node else []), *(["smiles"] if smiles else [])]
    blocks = graph_blocks(predictor, graphs, smiles, per_node, predictor.batch_size(wanted.batch_size))
    columns = AnswerColumns(predictor.task, wanted.samples > 0, "picked_nodes" if wanted.picks else None)
    return write(predictor, output, header, columns, blocks, wanted, progress)


def molecule_blocks(rows: Iterable[Row], header: list[str], column: str, size: int, lines: Lines) -> Iterator[Block]:
    """Rows in blocks of ``size`` good molecules."""
    raise NotImplementedError
