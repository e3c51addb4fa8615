"""``policylearn predict``: a table of molecules (or packed graphs) in, the same rows with predictions out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from policylearn.cli.options import Flag, OutputPath
from policylearn.cli.printing import add_bar, progress_bars, say, spoken_notes, warn
from policylearn.cli.registry import verb
from policylearn.cli.stopping import stop_signals

if TYPE_CHECKING:
    from rich.console import Console

    from policylearn.prediction.table_writer import Progress

SOME_ROWS_FAILED = 1
SMALL_TABLE = 4096
"""Bytes of a table whose molecules are read before another process has started."""
ALL_CORES = 1_000_000
"""More workers than any cluster has cores for; it gives as many as it has."""


@verb("predict")
def predict(
    run: Path,
    table: Path,
    /,
    *,
    output: OutputPath,
    smiles: str | None = None,
    batch_size: int | None = None,
    picks: Flag = False,
    interval: float = 0.9,
    workers: int | None = None,
    ray: Flag = False,
) -> int:
    """Predict on a table of SMILES or on packed graphs.

    Every row of the input comes out in its place with its columns, then the predictions, with intervals where the run
    has calibration; a row that cannot be predicted has none, and its reason in the last column, 'error'. The exit code
    is 0 if all rows were predicted, 1 if some were not, 2 if nothing was written.

    Args:
        run: the run folder, or a packed file.
        table: molecules (.csv, .tsv, .smi, .sdf or .parquet, .gz too), or a packed .npz.
        output: the CSV or TSV (.gz too); it appears when it is complete.
        smiles: the column of molecules; its name in training by default.
        batch_size: graphs processed together; the run's by default.
        picks: write the picked atoms, counted from 0.
        interval: how often an interval (or set of labels) should contain the truth.
        workers: processes that read molecules; one per core for models with descriptors by default, else half as many.
        ray: share a table out over a Ray cluster (RAY_ADDRESS, or this machine); finished parts are kept.
    """
    from joblib import cpu_count
    from rich.console import Console

    packed = table.suffix == ".npz"
    if workers is not None and workers < 1:
        raise ValueError(f"'workers' must be >= 1 (got {workers})")
    if ray and packed:
        raise ValueError(f"{table}: '--ray' shares tables out, not packed graphs; leave --ray out")
    if not table.is_file():
        from policylearn.data.datasets import CATALOG
        from policylearn.data.root import data_root

        if str(table) in CATALOG:
            raise ValueError(f"'{table}' is a dataset; give its file, {data_root() / CATALOG[str(table)].file}")
    if not ray and not packed and table.is_file() and table.stat().st_size > SMALL_TABLE:
        from policylearn.data.worker_server import start_server

        start_server()  # now, while this process imports torch

    from policylearn.prediction.calibration import LEVELS
    from policylearn.prediction.predictor import load
    from policylearn.prediction.table_writer import PredictOptions, predict_table, usual_workers

    console = Console(stderr=True, markup=False)
    with spoken_notes(console):
        predictor = load(run)
    calibration = predictor.calibration
    bounded = None if calibration is None else calibration.bounded_levels()
    if calibration is not None and interval in LEVELS:
        way_out = f"; --interval {max(bounded):g} is the highest level with bounds" if bounded else ""
        for reason in calibration.missing(predictor.task, interval):
            warn(f"{reason}{way_out}", console)
    used = workers or (ALL_CORES if ray else usual_workers(predictor, cpu_count()))
    options = PredictOptions(batch_size, picks, interval, used)
    kept = "finished parts are kept; call the same command again" if ray else "nothing was written"
    with stop_signals(lambda: kept), progress_bar(console, table) as progress:
        if ray:
            from policylearn.prediction.ray_table import predict_on_ray

            written = predict_on_ray(predictor, run, table, output, options, smiles=smiles, progress=progress)
        else:
            written = predict_table(predictor, table, output, options, smiles=smiles, progress=progress)
    *names, error = written.columns
    text = f"{output}: {written.rows - written.failed:,} of {written.rows:,} rows predicted ({', '.join(names)})"
    failed = f"; {written.failed:,} failed, column '{error}' says why" if written.failed else ""
    say(text + failed)
    return SOME_ROWS_FAILED if written.failed else 0


@contextmanager
def progress_bar(console: Console, source: Path) -> Iterator[Progress]:
    """A bar by the share of the input that has been read; where that is not known, rows alone are counted."""
    from policylearn.data.packed import read_arrays

    total: int | None = None
    if source.suffix == ".npz" and source.is_file():
        pointer = read_arrays(source, only=("node_ptr",)).get("node_ptr")
        total = None if pointer is None else pointer.size - 1
    elif source.suffix != ".gz" and source.is_file():
        total = source.stat().st_size
    with progress_bars(console, transient=True, disable=not console.is_terminal) as bars:
        bar = add_bar(bars, "predicting", total)
        yield lambda rows, position: bars.update(bar, completed=position, figures=f"{rows:,} rows")
