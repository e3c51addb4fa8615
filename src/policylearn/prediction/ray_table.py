"""Predict on a table with the workers of a Ray cluster: finished parts of it are kept, and joined at the end.

A part is some chunks of the table, as `predict_table` would look at them one by one, so that the answers are the same.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from policylearn.data import DataError
from policylearn.data.atomic import replacing, write_text
from policylearn.data.convert import open_rows
from policylearn.data.packed import Array
from policylearn.data.preparation import prepare_molecules
from policylearn.prediction.predictor import Predictor, load
from policylearn.prediction.table_reader import CHUNK, Chunk, molecule_column, read_chunks
from policylearn.prediction.table_writer import (
    PredictOptions,
    Progress,
    Written,
    block_rows,
    check_options,
    columns_of,
    open_output,
    table_writer,
    with_large_batches,
)
from policylearn.settings.run_files import WEIGHTS, RunError
from policylearn.training.ray_cluster import ray_cluster, ray_cores

PICKS = "picked_atoms"
CHUNKS = 32
"""Chunks of a part: 16,384 rows, half a minute or so of one core."""
ABOUT = "about.json"


@dataclass(frozen=True)
class TableParts:
    """A prediction in parts: plain values, from which every worker finds all else on the disk that it shares."""

    run: Path
    source: Path
    column: str
    output: Path
    wanted: PredictOptions
    chunks: int = CHUNKS

    @property
    def folder(self) -> Path:
        """Where finished parts are kept until the output is whole."""
        return self.output.with_name(f"{self.output.name}.parts")

    def rows_path(self, number: int) -> Path:
        """The rows of a part, as the output will have them."""
        return self.folder / f"{number:08d}.rows"

    def counts_path(self, number: int) -> Path:
        """How many rows a part has and how many failed; it is written last, so that a part with it is whole."""
        return self.rows_path(number).with_suffix(".json")

    def about(self) -> dict[str, Any]:
        """What the parts depend on, as the folder keeps it."""
        weights = b"".join(path.read_bytes() for path in sorted(self.run.rglob(WEIGHTS)))
        table = self.source.stat()
        return {
            "weights": hashlib.sha256(weights).hexdigest(),
            "table": [str(self.source), table.st_size, table.st_mtime_ns],
            "column": self.column,
            "tabs": ".tsv" in self.output.suffixes,
            "wanted": {key: value for key, value in asdict(self.wanted).items() if key != "workers"},
            "rows": CHUNK * self.chunks,
        }

    def begin(self) -> None:
        """Make the folder, or find the parts of an earlier attempt in it; a `RunError` where they are of another."""
        known, wanted = self.folder / ABOUT, self.about()
        self.folder.mkdir(parents=True, exist_ok=True)
        if known.exists():
            stored = json.loads(known.read_text(encoding="utf-8"))
            wrong = [name for name, value in wanted.items() if stored.get(name) != value]
            if wrong:
                raise RunError(f"{self.folder}: holds parts of another prediction (other {wrong[0]}); remove it")
        write_text(known, json.dumps(wanted, indent=2) + "\n")

    def read(self) -> Iterator[tuple[int, list[Chunk]]]:
        """The parts that are not finished, with their numbers."""
        with open_rows(self.source, smiles=self.column) as rows:
            chunks = read_chunks(rows, CHUNK)
            for number in count():
                some = list(islice(chunks, self.chunks))
                if not some:
                    return
                if not self.counts_path(number).exists():
                    yield number, some

    def join(self, header: list[str], names: list[str]) -> Written:
        """Put all parts into the output, and take their folder away."""
        counts = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(self.folder.glob("*[0-9].json"))]
        missing = [number for number in range(len(counts)) if not self.counts_path(number).exists()]
        if missing:
            raise RunError(f"{self.folder}: part {missing[0]} is missing; call the same command again to make it")
        with replacing(self.output) as part, open_output(part, self.output) as file:
            table_writer(file, self.output).writerow([*header, *names])
            for number in range(len(counts)):
                with self.rows_path(number).open(encoding="utf-8", newline="") as rows:
                    shutil.copyfileobj(rows, file)
        shutil.rmtree(self.folder)
        return Written(sum(one["rows"] for one in counts), sum(one["failed"] for one in counts), tuple(names))


class PartPredictor:
    """A worker: it loads the model once and then answers parts."""

    def __init__(self, parts: TableParts) -> None:
        self.parts, self.predictor = parts, load(parts.run)
        self.transforms, self.columns = self.predictor.transforms, columns_of(self.predictor, PICKS, parts.wanted)

    def __call__(self, batch: dict[str, Array]) -> dict[str, Array]:
        """Write one part; how many rows it has, how many failed, and how far the input was read."""
        number, chunks = int(batch["part"][0]), pickle.loads(batch["chunks"][0])
        rows, failed, path = 0, 0, self.parts.rows_path(number)
        with replacing(path) as part, open_output(part, path) as file:
            writer = table_writer(file, self.parts.output)
            for chunk in chunks:
                block = chunk.block(prepare_molecules(chunk.smiles, self.transforms, self.predictor.run.facts.parents))
                writer.writerows(block_rows(self.predictor, self.columns, block, self.parts.wanted))
                rows, failed = rows + len(block.cells), failed + sum(map(bool, block.errors))
        counts = {"rows": rows, "failed": failed, "position": chunks[-1].position}
        write_text(self.parts.counts_path(number), json.dumps(counts) + "\n")
        return {name: np.array([value]) for name, value in counts.items()}


def predict_on_ray(
    predictor: Predictor,
    run: str | Path,
    source: str | Path,
    output: str | Path,
    wanted: PredictOptions | None = None,
    *,
    smiles: str | None = None,
    progress: Progress | None = None,
    chunks: int = CHUNKS,
) -> Written:
    """Predict on a table of SMILES as `predict_table` does, with ``wanted.workers`` processes of a Ray cluster.

    Input, run and output must lie on a disk that all workers see. Finished parts are kept beside the output until it is
    whole: what is killed loses the parts that it was at, and the same call makes the rest.

    The predictor says beforehand what cannot be done; workers load the model from its folder ``run``. A part has so
    many ``chunks`` of 512 rows. The other arguments are those of `predict_table`.
    """
    source, output = Path(source).resolve(), Path(output).resolve()
    wanted = with_large_batches(predictor, check_options(predictor, source, output, wanted))
    column = molecule_column(predictor, source, smiles)
    if predictor.depends_on_batch:
        raise RunError(f"{run}: its answers depend on the batch, so a table cannot be shared out; leave --ray out")
    with open_rows(source, smiles=column) as rows:
        header = rows.header
    names = columns_of(predictor, PICKS, wanted).names(header)
    parts = TableParts(Path(run).resolve(), source, column, output, wanted, chunks)
    parts.begin()
    with ray_cluster() as ray, one_part_per_block(), raise_data_errors(ray):
        done = furthest = 0
        for found in part_results(ray, parts, min(wanted.workers, ray_cores(ray))):
            done, furthest = done + int(found["rows"]), max(furthest, int(found["position"]))
            if progress:
                progress(done, furthest)
    return parts.join(header, names)


def part_results(ray: Any, parts: TableParts, workers: int) -> Iterator[dict[str, Any]]:
    """What became of each part, as it is finished."""

    def read(_batch: dict[str, Array]) -> Iterator[dict[str, Array]]:
        for number, chunks in parts.read():
            packed = np.empty(1, dtype=object)
            packed[0] = pickle.dumps(chunks)
            yield {"part": np.array([number]), "chunks": packed}

    # Reading takes next to nothing beside the model, and must not take one of its cores; being asked for less than the
    # workers are, it is a stage of its own, which sends parts on while it reads.
    table = ray.data.from_items([str(parts.source)]).map_batches(read, batch_size=1, num_cpus=0)
    pool = ray.data.ActorPoolStrategy(size=workers)
    answered = table.map_batches(PartPredictor, fn_constructor_args=(parts,), batch_size=1, compute=pool, num_cpus=1)
    yield from answered.iter_rows()


@contextmanager
def one_part_per_block() -> Iterator[None]:
    """Let Ray Data send on each part by itself, without its bars."""
    from ray.data import DataContext

    context = DataContext.get_current()
    before = (context.target_max_block_size, context.enable_progress_bars)
    context.target_max_block_size, context.enable_progress_bars = 1, False
    try:
        yield
    finally:
        context.target_max_block_size, context.enable_progress_bars = before


@contextmanager
def raise_data_errors(ray: Any) -> Iterator[None]:
    """Raise what a worker found wrong with the input as it would be here, and not as a fault of Ray."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, DataError):
            cause = getattr(cause, "cause", None) or cause.__cause__
        if cause is None:
            raise
        raise DataError(str(cause)) from error
