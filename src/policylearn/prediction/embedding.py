"""The vectors of graphs: what enters the head of a trained model, for tables and for graphs in memory."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from policylearn.bags import Graphs
from policylearn.data import DataError, PackedGraphs
from policylearn.data.atomic import replacing
from policylearn.data.convert import open_rows
from policylearn.data.packed import Array
from policylearn.data.transforms import Transform
from policylearn.prediction.answer_columns import ERROR
from policylearn.prediction.predictor import Predictor
from policylearn.prediction.table_reader import Block, graph_blocks, molecule_blocks, prepared_blocks
from policylearn.prediction.table_writer import molecule_column, opened, table_writer, threads_beside
from policylearn.settings.run_files import RunError
from policylearn.training.evaluation import outputs_of

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npy")


@torch.inference_mode()
def graph_vectors(predictor: Predictor, graphs: PackedGraphs, *, batch_size: int | None = None) -> Array:
    """What enters the head for each graph; of an ensemble the vectors of its members side by side, ``(G, C)``.

    Args:
        predictor: the model.
        graphs: as `Predictor.prepare` gives them.
        batch_size: as in `Predictor.answer`.
    """
    size = predictor.batch_size(batch_size)
    members = [entering(model, predictor.prepared_batches(graphs, size)) for model in predictor.models]
    vectors: Array = torch.cat(members, dim=1).cpu().numpy()
    if len(vectors) != len(graphs):
        raise RunError(f"{predictor.run.folder}: its head sees {len(vectors)} rows for {len(graphs)} graphs")
    return vectors


def entering(model: nn.Module, batches: Iterable[Graphs]) -> Tensor:
    """What enters the head of a model over all batches, ``(G, C)``."""
    seen: list[Tensor] = []

    def keep(_head: nn.Module, given: tuple[Tensor, ...]) -> None:
        seen.append(given[0])

    hook = head_of(model).register_forward_pre_hook(keep)
    try:
        for batch in batches:
            outputs_of(model, batch)
    finally:
        hook.remove()
    return torch.cat(seen)


def head_of(model: nn.Module) -> nn.Module:
    """The first module after the vector of a graph, or a `RunError` where a model has none."""
    parts = dict(model.named_children())
    head = parts.get("head", parts.get("head1"))
    if head is None:
        raise RunError(
            f"a {type(model).__name__} has no head that takes one vector per graph; embed with another model"
        )
    return next(iter(head.values())) if isinstance(head, nn.ModuleDict) else head


def embed_file(
    predictor: Predictor, source: str | Path, output: str | Path, *, smiles: str | None = None, workers: int = 0
) -> tuple[int, int, int]:
    """Write the vectors of a table of molecules or of packed graphs; rows, how many failed, and the vectors' width.

    A row that cannot be read has the reason in the column ``error``, and no vector; in ``.npy`` it is NaN. All vectors
    are held in memory.

    Args:
        predictor: the model.
        source: a table of SMILES, or a packed ``.npz``.
        output: ``.csv`` or ``.tsv`` (``.gz`` too), ``.parquet``, or ``.npy`` with the vectors alone.
        smiles: the column of molecules; None takes the name that it had in training.
        workers: processes that read molecules, as in `PredictOptions`.
    """
    source, output = Path(source), Path(output)
    if not output.name.endswith(SUFFIXES):
        raise DataError(f"{output}: vectors are written as {', '.join(SUFFIXES)}; choose one of these")
    if predictor.task.level == "node":
        raise DataError(f"{predictor.run.folder}: predicts nodes, and has no vectors of graphs")
    if source.suffix == ".npz":
        graphs = PackedGraphs.load(source)
        names, size = ["graph"] + ["smiles"] * (graphs.smiles is not None), predictor.batch_size(None)
        return write_vectors(predictor, output, names, graph_blocks(predictor, graphs, size, graphs.smiles))
    with open_rows(source, smiles=molecule_column(predictor, source, smiles)) as rows:
        if predictor.depends_on_batch:
            blocks = molecule_blocks(predictor, rows, predictor.batch_size(None))
        else:
            fitted = [Transform.from_json(stored) for stored in predictor.run.facts.transforms]
            blocks = prepared_blocks(rows, fitted, workers, parents=predictor.run.facts.parents)
        with closing(blocks), threads_beside(workers):
            return write_vectors(predictor, output, rows.header, blocks)


def write_vectors(
    predictor: Predictor, output: Path, header: list[str], blocks: Iterable[Block]
) -> tuple[int, int, int]:
    """Write the vectors of all blocks; see `embed_file`."""
    cells: list[list[str]] = []
    errors: list[str] = []
    parts: list[Array] = []
    for block in blocks:
        cells += block.cells
        errors += block.errors
        if block.graphs is not None:
            predictor.check_prepared(block.graphs)
            parts.append(graph_vectors(predictor, block.graphs)[block.answers])
    if not parts:
        raise DataError(f"no row can be embedded; {errors[0] if errors else 'the input has no rows'}")
    good = np.array([not error for error in errors])
    vectors = np.full((len(good), parts[0].shape[1]), np.nan, dtype=parts[0].dtype)
    vectors[good] = np.concatenate(parts)
    names = vector_names(vectors.shape[1], header)
    with replacing(output) as part:
        if output.suffix == ".npy":
            with part.open("wb") as file:
                np.save(file, vectors)
        elif output.suffix == ".parquet":
            write_parquet(part, header, cells, names, vectors, errors)
        else:
            with opened(part, output) as text:
                writer = table_writer(text, output)
                writer.writerow([*header, *names, ERROR])
                for kept, row, error in zip(cells, vectors, errors, strict=True):
                    writer.writerow([*kept, *("" if error else f"{value:.9g}" for value in row), error])
    return len(errors), int((~good).sum()), vectors.shape[1]


def vector_names(width: int, taken: list[str]) -> list[str]:
    """Names of columns that the input has not."""
    start = "vector"
    while any(name.startswith(f"{start}_") for name in taken):
        start += "_"
    return [f"{start}_{at}" for at in range(width)]


def write_parquet(
    path: Path, header: list[str], cells: list[list[str]], names: list[str], vectors: Array, errors: list[str]
) -> None:
    """Write a Parquet file: the input's cells as text, numbers, and the error."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(
            f"{path}: writing Parquet needs pyarrow; install policylearn[parquet], or choose .csv or .npy"
        ) from error
    columns: list[object] = [list(column) for column in zip(*cells, strict=True)]
    arrays = [
        *(pyarrow.array(one) for one in columns),
        *(pyarrow.array(one) for one in vectors.T),
        pyarrow.array(errors),
    ]
    parquet.write_table(pyarrow.Table.from_arrays(arrays, names=[*header, *names, ERROR]), path)
