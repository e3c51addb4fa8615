"""Predict on a file: rows stream in, rows stream out, and the output is whole or absent."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

import torch

from policylearn.data import DataError, PackedGraphs
from policylearn.data.atomic import replacing
from policylearn.data.convert import open_rows
from policylearn.data.transforms import Transform
from policylearn.data.transforms.descriptors import Descriptors
from policylearn.fast import keep_freed_memory
from policylearn.models import PickingModel, chosen_system
from policylearn.prediction.answer_columns import AnswerColumns
from policylearn.prediction.calibration import USUAL
from policylearn.prediction.predictor import Answer, Predictor
from policylearn.prediction.row_writer import RowWriter, row_writer
from policylearn.prediction.table_reader import Block, graph_blocks, molecule_blocks, prepared_blocks

Progress = Callable[[int, int], None]
"""Told the rows that are done, and how far the input has been read: bytes of a table, graphs of a packed file."""

LEAST_BATCH = 256
"""Molecules looked at together, unless told otherwise."""


@dataclass(frozen=True)
class PredictOptions:
    """What to write besides the predictions.

    Args:
        batch_size: graphs looked at together; None takes the run's, of a table of molecules 256 where that is more.
        picks: whether to write the picked nodes.
        level: how often intervals and sets shall hold the truth, where the run has calibration.
        workers: processes that read molecules, each with a time limit per molecule; they want a program that guards its
            start, as `multiprocessing` does. 0 reads in this process, as does a model that looks at the whole batch.
    """

    batch_size: int | None = None
    picks: bool = False
    level: float = USUAL
    workers: int = 0


@dataclass(frozen=True)
class Written:
    """How many rows were written, how many of them without a prediction, and the columns that were added."""

    rows: int
    failed: int
    columns: tuple[str, ...]


def predict_table(
    predictor: Predictor,
    source: str | Path,
    output: str | Path,
    wanted: PredictOptions | None = None,
    *,
    smiles: str | None = None,
    progress: Progress | None = None,
) -> Written:
    """Predict on a table of SMILES; each row comes out in its place, with its prediction or the reason for none.

    The file is read and written some rows at a time, so it may be larger than memory; reading molecules, the model and
    writing go on side by side.

    Args:
        predictor: the model.
        source: ``.csv``, ``.tsv``, ``.smi``, ``.sdf`` or ``.parquet``, and ``.gz`` of each.
        output: ``.csv`` or ``.tsv``, or either with ``.gz``; it appears once all rows are in it.
        wanted: what to write besides the predictions.
        smiles: the column of molecules; None takes the name that it had in training.
        progress: told how far it is.
    """
    source, output = Path(source), Path(output)
    wanted = check(predictor, source, output, wanted)
    with open_rows(source, smiles=molecule_column(predictor, source, smiles)) as rows:
        if predictor.depends_on_batch:
            blocks = molecule_blocks(predictor, rows, predictor.batch_size(wanted.batch_size))
        else:
            wanted = in_large_batches(predictor, wanted)
            fitted = [Transform.from_json(stored) for stored in predictor.run.facts.transforms]
            blocks = prepared_blocks(rows, fitted, wanted.workers, parents=predictor.run.facts.parents)
        # Closed here, and not when it is collected: then its processes end where an error leaves this block.
        with closing(blocks), threads_beside(wanted.workers):
            return write(predictor, output, rows.header, "picked_atoms", blocks, wanted, progress)


def usual_workers(predictor: Predictor, cores: int) -> int:
    """Processes to read molecules with on so many cores.

    RDKit's descriptors take twenty times what the model does, so that reading them gets all cores; without them reading
    takes about as long as the model, and half of the cores are left to that.
    """
    describes = any(stored["name"] == Descriptors.name for stored in predictor.run.facts.transforms)
    return cores if describes else min(cores, max(2, cores // 2))


@contextmanager
def threads_beside(workers: int) -> Iterator[None]:
    """A block in which the model has the threads that reading processes leave, at least one.

    With more, its threads wait for each other while a process that reads has their core.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, before - workers) if workers > 1 else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def predict_packed(
    predictor: Predictor,
    source: str | Path,
    output: str | Path,
    wanted: PredictOptions | None = None,
    *,
    progress: Progress | None = None,
) -> Written:
    """Predict on a packed file, a row per graph (node-level tasks: per node); the arguments are those of a table."""
    source, output = Path(source), Path(output)
    wanted = check(predictor, source, output, wanted)
    graphs = PackedGraphs.load(source)
    smiles = graphs.smiles
    header = ["graph"] + ["node"] * (predictor.task.level == "node") + ["smiles"] * (smiles is not None)
    blocks = graph_blocks(predictor, graphs, predictor.batch_size(wanted.batch_size), smiles)
    return write(predictor, output, header, "picked_nodes", blocks, wanted, progress)


def check(predictor: Predictor, source: Path, output: Path, wanted: PredictOptions | None) -> PredictOptions:
    """What is wanted, or an error before any work is done."""
    wanted = wanted or PredictOptions()
    if output.exists() and source.exists() and output.samefile(source):
        raise DataError(f"{output}: is the input itself; choose another name for the output")
    if output.is_dir():
        raise DataError(f"{output}: is a folder; name a file for the output")
    system, settings = chosen_system(predictor.run.config)
    picks = isinstance(predictor.model, PickingModel) and system.copies(settings, 2) > 1
    if wanted.picks and not picks:
        raise ValueError(f"'{predictor.run.label}' of {predictor.run.folder} picks no nodes; leave --picks out")
    if predictor.calibration is not None and wanted.level not in predictor.calibration.levels:
        known = ", ".join(f"{level:g}" for level in predictor.calibration.levels)
        raise ValueError(f"'interval' must be one of {known} (got {wanted.level:g})")
    return wanted


def molecule_column(predictor: Predictor, source: Path, smiles: str | None) -> str:
    """The column of molecules of a table: as it was said, or as in training."""
    if predictor.run.facts.featuriser is None:
        raise DataError(f"{source}: the run was trained on graphs and cannot read molecules; give a packed .npz")
    return smiles or predictor.run.config.data.smiles


def in_large_batches(predictor: Predictor, wanted: PredictOptions) -> PredictOptions:
    """What is wanted, where the batch plays no part: answers are the same, and larger batches of molecules faster."""
    size = max(LEAST_BATCH, predictor.batch_size(None))
    return replace(wanted, batch_size=size) if wanted.batch_size is None else wanted


def columns_of(predictor: Predictor, picks: str, wanted: PredictOptions) -> AnswerColumns:
    """The columns that a prediction adds; ``picks`` is the name of the one of picked nodes."""
    return AnswerColumns(
        predictor.task,
        std=bool(predictor.others),
        bounds=predictor.calibration is not None,
        picks=picks if wanted.picks else None,
        domain=predictor.domain,
    )


def answer_block(predictor: Predictor, block: Block, wanted: PredictOptions) -> Answer | None:
    """What the model says of a block; None where none of its rows is good."""
    if block.graphs is None:
        return None
    predictor.check_prepared(block.graphs)
    return predictor.answer_prepared(block.graphs, batch_size=wanted.batch_size, level=wanted.level)


def table_writer(file: IO[str], output: Path) -> RowWriter:
    """Writes rows to an open file as the ``output`` that it becomes wants them."""
    return row_writer(file, "\t" if ".tsv" in output.suffixes else ",")


def write(
    predictor: Predictor,
    output: Path,
    header: list[str],
    picks: str,
    blocks: Iterable[Block],
    wanted: PredictOptions,
    progress: Progress | None,
) -> Written:
    """Write the rows of all blocks with their answers.

    Args:
        predictor: the model.
        output: the table.
        header: the names of the columns that are kept of the input.
        picks: the name of the column of picked nodes.
        blocks: the input.
        wanted: what to write besides the predictions.
        progress: told how far it is.
    """
    keep_freed_memory()  # a batch leaves its memory for the next; clearing it again takes a tenth of the model's time
    columns = columns_of(predictor, picks, wanted)
    names = columns.names(header)
    rows = failed = 0
    pending: Future[None] | None = None
    # The thread is within the file's block: whatever happens, it ends before the file is closed.
    with replacing(output) as part, opened(part, output) as file, ThreadPoolExecutor(1) as thread:
        writer = table_writer(file, output)
        writer.writerow([*header, *names])
        for block in blocks:
            answer = answer_block(predictor, block, wanted)
            if pending is not None:
                pending.result()
            pending = thread.submit(write_block, writer, columns, block, answer, len(names))
            rows += len(block.cells)
            failed += sum(map(bool, block.errors))
            if progress:
                progress(rows, block.position)
        if pending is not None:
            pending.result()
    return Written(rows, failed, tuple(names))


def write_block(writer: RowWriter, columns: AnswerColumns, block: Block, answer: Answer | None, added: int) -> None:
    """Write the rows of a block, each with its answer or the reason for none.

    Args:
        writer: of the table.
        columns: that are added.
        block: the rows.
        answer: of the model; None where no row has one.
        added: how many columns.
    """
    answered: Iterator[list[str]] = iter(())
    if answer is not None:
        cells = columns.cells(answer, block.owners)
        answered = (cells[at] for at in block.answers)
    nothing = [""] * (added - 1)
    for kept, error in zip(block.cells, block.errors, strict=True):
        writer.writerow([*kept, *nothing, error] if error else [*kept, *next(answered)])


@contextmanager
def opened(part: Path, output: Path) -> Iterator[IO[str]]:
    """A text file to write to, packed where the ``output`` that it becomes is called ``.gz``."""
    # A lone surrogate, which UTF-8 cannot hold, is kept as \udcXX.
    with (
        gzip.open(part, "wb") if output.suffix == ".gz" else part.open("wb") as raw,
        io.TextIOWrapper(cast(IO[bytes], raw), encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file
