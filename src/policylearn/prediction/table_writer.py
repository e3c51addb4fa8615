"""Predict on a file: rows stream in, rows stream out, and the output is whole or absent."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

from policylearn.data import DataError
from policylearn.data.atomic import replacing
from policylearn.data.transforms.descriptors import Descriptors
from policylearn.fast import keep_freed_memory
from policylearn.models import PickingModel, chosen_system
from policylearn.prediction.answer_columns import AnswerColumns, row_writer
from policylearn.prediction.calibration import USUAL
from policylearn.prediction.predictor import Predictor
from policylearn.prediction.table_reader import Block, open_blocks

Progress = Callable[[int, int], None]
"""Told the rows that are done, and how far the input has been read: bytes of a table, graphs of a packed file."""

LEAST_BATCH = 256
"""Molecules looked at together, unless told otherwise."""


@dataclass(frozen=True)
class PredictOptions:
    """What to write besides the predictions."""

    batch_size: int | None = None  # graphs looked at together; None takes the run's, of a table at least 256
    picks: bool = False  # whether to write the picked nodes
    level: float = USUAL  # how often intervals and sets shall hold the truth, where the run has calibration
    workers: int = 0
    """Processes that read molecules, each with a time limit per molecule, in a program that guards its start as
    `multiprocessing` wants it. 0 reads in this process."""


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

    The file is read and written some rows at a time, so it may be larger than memory; molecules are read while the
    model answers. A packed file has a row per graph (node-level tasks: per node).

    Args:
        predictor: the model.
        source: ``.csv``, ``.tsv``, ``.smi``, ``.sdf`` or ``.parquet``, and ``.gz`` of each; or a packed ``.npz``.
        output: ``.csv`` or ``.tsv``, or either with ``.gz``; it appears once all rows are in it.
        wanted: what to write besides the predictions.
        smiles: the column of molecules; None takes the name that it had in training.
        progress: told how far it is.
    """
    source, output = Path(source), Path(output)
    wanted, packed = check_options(predictor, source, output, wanted), source.suffix == ".npz"
    wanted = wanted if packed else with_large_batches(predictor, wanted)
    columns = columns_of(predictor, "picked_nodes" if packed else "picked_atoms", wanted)
    keep_freed_memory()  # a batch leaves its memory for the next; clearing it again takes a tenth of the model's time
    rows = failed = 0
    with (
        open_blocks(predictor, source, smiles, wanted.workers) as (header, blocks),
        replacing(output) as part,
        open_output(part, output) as file,
    ):
        names = columns.names(header)
        writer = table_writer(file, output)
        writer.writerow([*header, *names])
        for block in blocks:
            writer.writerows(block_rows(predictor, columns, block, wanted))
            rows += len(block.cells)
            failed += sum(map(bool, block.errors))
            if progress:
                progress(rows, block.position)
    return Written(rows, failed, tuple(names))


def usual_workers(predictor: Predictor, cores: int) -> int:
    """Processes to read molecules with on so many cores.

    RDKit's descriptors take twenty times what the model does, so that reading them gets all cores; without them reading
    takes about as long as the model, and half of the cores are left to that.
    """
    describes = any(stored["name"] == Descriptors.name for stored in predictor.run.facts.transforms)
    return cores if describes else min(cores, max(2, cores // 2))


def check_options(predictor: Predictor, source: Path, output: Path, wanted: PredictOptions | None) -> PredictOptions:
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


def with_large_batches(predictor: Predictor, wanted: PredictOptions) -> PredictOptions:
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


def block_rows(
    predictor: Predictor, columns: AnswerColumns, block: Block, wanted: PredictOptions
) -> Iterator[list[str]]:
    """The rows of a block, each with its answer or the reason for none."""
    cells: list[list[str]] = []
    if block.graphs is not None:
        predictor.check_prepared(block.graphs)
        answer = predictor.answer_prepared(block.graphs, batch_size=wanted.batch_size, level=wanted.level)
        cells = columns.cells(answer, block.owners)
    answered = (cells[at] for at in block.answers)
    nothing = [""] * (len(columns.names(())) - 1)
    for kept, error in zip(block.cells, block.errors, strict=True):
        yield [*kept, *nothing, error] if error else [*kept, *next(answered)]


def table_writer(file: IO[str], output: Path) -> Any:
    """A `csv.writer` to an open file, as the ``output`` that it becomes wants its rows."""
    return row_writer(file, "\t" if ".tsv" in output.suffixes else ",")


@contextmanager
def open_output(part: Path, output: Path) -> Iterator[IO[str]]:
    """A text file to write to, packed where the ``output`` that it becomes is called ``.gz``."""
    # A lone surrogate, which UTF-8 cannot hold, is kept as \udcXX.
    with (
        gzip.open(part, "wb") if output.suffix == ".gz" else part.open("wb") as raw,
        io.TextIOWrapper(cast(IO[bytes], raw), encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file
