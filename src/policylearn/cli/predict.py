"""``policylearn predict``: a table of molecules (or packed graphs) in, the same rows with predictions out."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from policylearn.cli.command import Command, Parser
from policylearn.cli.evaluate import DRAWS
from policylearn.cli.printing import warn
from policylearn.cli.stopping import stop_signals

if TYPE_CHECKING:
    from rich.console import Console

    from policylearn.prediction.predictor import Predictor
    from policylearn.prediction.table_writer import Progress, Wanted, Written

HELP = "predict on a CSV of SMILES or on packed graphs"
ABOUT = (
    "Predict on a CSV of SMILES or on packed graphs. Every row of the input comes out in its place with its columns,"
    " then the predictions, with intervals where the run has calibration; a row that cannot be predicted has none, and"
    " its reason in the last column, 'error'. The exit code is 0 if all rows were predicted, 1 if some were not, 2 if"
    " nothing was written."
)

SOME_ROWS_FAILED = 1
LARGE_TABLE = 100_000
"""Bytes of a file that holds more than one chunk of molecules."""
ALL_CORES = 1_000_000
"""More workers than any cluster has cores for; it gives as many as it has."""


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument("run", type=Path, help="the run folder")
    parser.add_argument(
        "input", type=Path, help="molecules (.csv, .tsv, .smi, .sdf or .parquet, .gz too), or a packed .npz"
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="the CSV or TSV (.gz too); it appears when it is complete"
    )
    parser.add_argument(
        "--smiles", type=str | None, default=None, help="the column of molecules (default: its name in training)"
    )
    parser.add_argument(
        "--batch-size", type=int | None, default=None, help="graphs processed together (default: the run's)"
    )
    parser.add_argument("--picks", action="store_true", help="write the picked atoms, counted from 0")
    parser.add_argument(
        "--interval", type=float, default=0.9, help="how often an interval (or set of labels) should contain the truth"
    )
    parser.add_argument("--draws", type=int, default=1, help=DRAWS)
    parser.add_argument(
        "--workers",
        type=int | None,
        default=None,
        help="processes that read molecules (default: one per core for models with descriptors, else half as many)",
    )
    parser.add_argument(
        "--ray",
        action="store_true",
        help="share a table out over a Ray cluster (RAY_ADDRESS, or this machine); finished parts are kept",
    )
    parser.add_argument("--spread", type=str | None, default=None, help="gone: train with --ensemble instead")


def run(options: Namespace) -> int:
    """Predict row by row, with a progress bar on a terminal, and say how many rows failed."""
    import warnings

    from rich.console import Console

    source, output = options.input, options.output
    given, cores = options.workers, available_cores()
    if given is not None and given < 1:
        raise ValueError(f"'workers' must be >= 1 (got {given})")
    if (given or cores) > 1 and not options.ray and is_large_table(source):
        from policylearn.data.worker_server import start_server

        start_server()  # now, while this process imports torch

    from policylearn.prediction.predictor import BatchWarning, load
    from policylearn.prediction.table_writer import Wanted, predict_packed, predict_table, usual_workers

    if options.spread is not None:
        raise ValueError(
            "--spread is gone: it showed how much an answer depends on the picks, which is several times smaller than"
            " its error; intervals are written anyway, and 'policylearn train ... --ensemble 5' adds a standard"
            " deviation"
        )
    console = Console(stderr=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BatchWarning)
        predictor = load(options.run, draws=options.draws)
    for warning in caught:
        warn(str(warning.message), console)
    workers = usual_workers(predictor, cores) if given is None else given
    wanted = Wanted(options.batch_size, options.picks, options.interval, workers)
    kept = "finished parts are kept; call the same command again" if options.ray else "nothing was written"
    with stop_signals(lambda: kept), progress_bar(console, source) as progress:
        if options.ray:
            written = on_ray(options, predictor, wanted, progress)
        elif source.suffix == ".npz":
            written = predict_packed(predictor, source, output, wanted, progress=progress)
        else:
            written = predict_table(predictor, source, output, wanted, smiles=options.smiles, progress=progress)
    print(summary(predictor, output, written))  # noqa: T201 - the command's answer
    return SOME_ROWS_FAILED if written.failed else 0


def is_large_table(source: Path) -> bool:
    """Whether other processes are surely worth starting for a file."""
    return source.suffix != ".npz" and source.is_file() and source.stat().st_size > LARGE_TABLE


def on_ray(options: Namespace, predictor: Predictor, wanted: Wanted, progress: Progress) -> Written:
    """Predict on a table with a cluster, by default with all of its cores."""
    from dataclasses import replace

    from policylearn.prediction.ray_table import predict_on_ray

    if options.input.suffix == ".npz":
        raise ValueError(f"{options.input}: '--ray' shares tables out, not packed graphs; leave --ray out")
    wanted = replace(wanted, workers=options.workers or ALL_CORES)
    return predict_on_ray(
        predictor, options.run, options.input, options.output, wanted, smiles=options.smiles, progress=progress
    )


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def summary(predictor: Predictor, output: Path, written: Written) -> str:
    """One line on what was written."""
    *names, error = written.columns
    text = f"{output}: {written.rows - written.failed:,} of {written.rows:,} rows predicted ({', '.join(names)})"
    return text + (f"; {written.failed:,} failed, column '{error}' says why" if written.failed else "")


@contextmanager
def progress_bar(console: Console, source: Path) -> Iterator[Progress]:
    """A bar by the share of the input that has been read; where that is not known, rows alone are counted."""
    from policylearn.cli.progress import add_bar, progress_bars
    from policylearn.data.packed import read_arrays

    total: int | None = None
    if source.suffix == ".npz" and source.is_file():
        pointer = read_arrays(source, only=("node_ptr",)).get("node_ptr")
        total = None if pointer is None else pointer.size - 1
    elif source.suffix != ".gz" and source.is_file():
        total = source.stat().st_size
    with progress_bars(console, transient=True, disable=not console.is_terminal) as bars:
        bar = add_bar(bars, "predicting", total)

        def move(rows: int, position: int) -> None:
            bars.update(bar, completed=position, figures=f"{rows:,} rows")

        yield move


COMMAND = Command("predict", HELP, add_options, run, about=ABOUT)
