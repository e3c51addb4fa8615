"""Transforms applied to a dataset: in chunks, in several processes, with results kept on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from policylearn.data.arrays import digest
from policylearn.data.atomic import replacing
from policylearn.data.packed import Array, DataError, PackedGraphs, read_arrays
from policylearn.data.root import cache_folder
from policylearn.data.structures import check_pointers, structures_from_arrays, structures_to_arrays
from policylearn.data.subset import join_structures, take_graphs, take_structures
from policylearn.data.transforms.base import Structures, Transform, add_structures, only_graphs

Progress = Callable[[str, int, int], None]
"""Called with the name of the transform, the graphs done, and the graphs in all."""

CHUNK = 512


def transform_cache() -> Path:
    """Where results are kept unless told otherwise: ``policylearn/transforms`` in the user's cache folder."""
    return cache_folder() / "transforms"


def apply(
    transforms: Sequence[Transform],
    graphs: PackedGraphs,
    *,
    cache: Path | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> PackedGraphs:
    """The graphs with the structures of all transforms.

    Args:
        transforms: applied in this order; those that learn must have been fitted.
        graphs: any graphs, such as molecules to predict.
        cache: a folder for results; None computes everything. A file that is damaged is recomputed.
        workers: processes.
        progress: called as the work proceeds.
    """
    for transform in transforms:
        if cache is None:
            computed = _compute(transform.name, transform.compute_needed, only_graphs(graphs), workers, progress)
        else:
            computed = compute_chunks(transform, graphs, cache, workers, progress)
        graphs = add_structures(graphs, transform.finish(computed), transform.name)
    return graphs


def fit_apply(
    transforms: Sequence[Transform],
    graphs: PackedGraphs,
    train: Array | Sequence[int],
    *,
    cache: Path | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[tuple[Transform, ...], PackedGraphs]:
    """The transforms with what they learn from the training graphs, and all graphs with their structures.

    Equal to `Transform.fit` on the training graphs and `apply` on all, but nothing is computed twice.
    """
    fitted = []
    for transform in transforms:
        computed = compute_chunks(transform, graphs, cache, workers, progress)
        if transform.learned:
            transform = transform.learn(take_structures(computed, graphs, np.asarray(train)))
        fitted.append(transform)
        graphs = add_structures(graphs, transform.finish(computed), transform.name)
    return tuple(fitted), graphs


def compute_chunks(
    transform: Transform, graphs: PackedGraphs, cache: Path | None, workers: int, progress: Progress | None
) -> Structures:
    """What `Transform.compute` gives for all graphs, from the cache where it holds that."""
    bare = only_graphs(graphs)
    if cache is None or transform.source_hash is None:
        return _compute(transform.name, transform.compute, bare, workers, progress)
    key = cache_key(transform, bare)
    path = cache / f"{transform.name}-{key[:32]}.npz"
    stored = read_cache(path, key, bare)
    if stored is not None:
        if progress:
            progress(transform.name, len(graphs), len(graphs))
        return stored
    check_writable(cache)
    computed = _compute(transform.name, transform.compute, bare, workers, progress)
    arrays = structures_to_arrays(computed)
    checks = {"key": np.array(key), "digest": np.array(digest(arrays))}
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays, **checks)
    return computed


def cache_key(transform: Transform, graphs: PackedGraphs) -> str:
    """SHA-256 over the graphs, the name and settings of the transform, the version of its code and its file's hash."""
    names = ("x", "edge_index", "edge_attr", "node_ptr", "edge_ptr")
    arrays = {name: getattr(graphs, name) for name in names} | dict(graphs.extras)
    code = f"{transform.code_version()}{transform.source_hash}"
    return digest(arrays, f"{transform.name} {code} {sorted(transform.settings().items())}")


def read_cache(path: Path, key: str, graphs: PackedGraphs) -> Structures | None:
    """A stored result, or None where there is none or anything about it is wrong."""
    if not path.exists():
        return None
    try:
        arrays = read_arrays(path)
        if str(arrays.pop("key", "")) != key or str(arrays.pop("digest", "")) != digest(arrays):
            return None
        stored = structures_from_arrays(arrays, str(path))
        check_pointers(stored, graphs.node_ptr, graphs.edge_ptr, str(path))
    except DataError:  # cut short, damaged or foreign
        return None
    return stored


def check_writable(folder: Path) -> None:
    """Raise where nothing can be written: better before the work than after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot hold results of transforms ({error}); name another cache folder") from error
    if not os.access(folder, os.W_OK):
        raise DataError(f"{folder}: may not be written to; name another cache folder, or none")


Compute = Callable[[PackedGraphs], Structures]


def _compute(name: str, compute: Compute, graphs: PackedGraphs, workers: int, progress: Progress | None) -> Structures:
    if workers < 1:
        raise DataError(f"'workers' must be >= 1 (got {workers})")
    count = len(graphs)
    if not count:
        return compute(graphs)
    size = min(CHUNK, -(-count // workers))
    chunks = (take_graphs(graphs, np.arange(start, min(start + size, count))) for start in range(0, count, size))
    if workers == 1:
        found: Iterable[Structures] = map(compute, chunks)
    else:
        found = Parallel(n_jobs=workers, return_as="generator")(delayed(compute)(chunk) for chunk in chunks)
    results = []
    for done, result in enumerate(found, start=1):
        results.append(result)
        if progress:
            progress(name, min(done * size, count), count)
    return join_structures(results)
