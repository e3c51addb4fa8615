"""The vectors of graphs: what enters the head of a trained model, for tables and for graphs in memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from policylearn.bags import Graphs
from policylearn.data import DataError, PackedGraphs
from policylearn.data.atomic import replacing
from policylearn.data.packed import Array
from policylearn.prediction.answer_columns import ERROR
from policylearn.prediction.predictor import Predictor
from policylearn.prediction.table_reader import open_blocks
from policylearn.prediction.table_writer import open_output, table_writer
from policylearn.settings.run_files import RunError
from policylearn.training.evaluation import outputs_of

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npy")


@torch.inference_mode()
def graph_vectors(predictor: Predictor, graphs: PackedGraphs, *, batch_size: int | None = None) -> Array:
    """What enters the head for each graph of `Predictor.prepare`, ``(G, C)``; of an ensemble, side by side."""
    size = predictor.batch_size(batch_size)
    members = [head_inputs(model, predictor.prepared_batches(graphs, size)) for model in predictor.models]
    vectors: Array = torch.cat(members, dim=1).cpu().numpy()
    if len(vectors) != len(graphs):
        raise RunError(f"{predictor.run.folder}: its head sees {len(vectors)} rows for {len(graphs)} graphs")
    return vectors


def head_inputs(model: nn.Module, batches: Iterable[Graphs]) -> Tensor:
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
        raise RunError(f"a {type(model).__name__} has no head that takes a vector per graph; embed with another model")
    return next(iter(head.values())) if isinstance(head, nn.ModuleDict) else head


def embed_file(
    predictor: Predictor, source: str | Path, output: str | Path, *, smiles: str | None = None, workers: int = 0
) -> tuple[int, int, int]:
    """Write the vectors of a table of SMILES or a packed ``.npz``; returns rows, how many failed, and vector width.

    A row that cannot be read has the reason in the column ``error``, and no vector; in ``.npy``, which holds vectors
    alone, it is NaN. All vectors are held in memory. The other arguments are those of `predict_table`.
    """
    source, output = Path(source), Path(output)
    if not output.name.endswith(SUFFIXES):
        raise DataError(f"{output}: vectors are written as {', '.join(SUFFIXES)}; choose one of these")
    if predictor.task.level == "node":
        raise DataError(f"{predictor.run.folder}: predicts nodes, and has no vectors of graphs")
    cells: list[list[str]] = []
    errors: list[str] = []
    parts: list[Array] = []
    with open_blocks(predictor, source, smiles, workers) as (header, blocks):
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
    start = "vector"
    while any(name.startswith(f"{start}_") for name in header):
        start += "_"
    names = [*header, *(f"{start}_{at}" for at in range(vectors.shape[1])), ERROR]
    with replacing(output) as part:
        if output.suffix == ".npy":
            with part.open("wb") as file:
                np.save(file, vectors)
        elif output.suffix == ".parquet":
            write_parquet(part, names, [*zip(*cells, strict=True), *vectors.T, errors])
        else:
            with open_output(part, output) as text:
                writer = table_writer(text, output)
                writer.writerow(names)
                for kept, row, error in zip(cells, vectors, errors, strict=True):
                    writer.writerow([*kept, *("" if error else f"{value:.9g}" for value in row), error])
    return len(errors), int((~good).sum()), vectors.shape[1]


def write_parquet(path: Path, names: list[str], columns: Iterable[Iterable[object]]) -> None:
    """Write a Parquet file."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(f"{path}: Parquet needs pyarrow; install policylearn[parquet], or choose .csv") from error
    parquet.write_table(pyarrow.Table.from_arrays([pyarrow.array(one) for one in columns], names=names), path)
