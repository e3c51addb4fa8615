"""A dataset in one value: graphs, task, splits, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from policylearn.data.arrays import digest
from policylearn.data.datasets import Entry, find_entry
from policylearn.data.fetch import Download, check_size, fetch
from policylearn.data.packed import GRAPH_ARRAYS, DataError, PackedGraphs
from policylearn.data.root import data_root
from policylearn.data.splits import PARTS, Split, official_splits, stratified_folds
from policylearn.data.subset import targets_are_per_node
from policylearn.data.synthetic import SYNTHETIC, is_synthetic, synthetic_dataset
from policylearn.data.tasks import Task
from policylearn.settings import Level
from policylearn.wording import hint


@dataclass(frozen=True, eq=False)
class Dataset:
    """Graphs with what to learn from them.

    Args:
        name: how it was asked for.
        graphs: all of them, in the packed form.
        task: what to predict.
        splits: one, or one per fold; empty where the dataset has none.
        caveat: what is not original about the data; None where all is.
    """

    name: str
    graphs: PackedGraphs
    task: Task
    splits: tuple[Split, ...]
    caveat: str | None = None

    def __len__(self) -> int:
        return len(self.graphs)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over graphs, targets and splits: equal for equal data, wherever and whenever it is loaded.

        Structures are left out: they follow from the graphs and from transforms, which a run states.
        """
        arrays = {name: getattr(self.graphs, name) for name in GRAPH_ARRAYS}
        arrays |= {f"{part} {i}": getattr(split, part) for i, split in enumerate(self.splits) for part in PARTS}
        return digest(arrays)


def load_dataset(
    name: str | Path,
    *,
    root: Path | None = None,
    target: str | None = None,
    seed: int = 0,
    download: Download | None = None,
) -> Dataset:
    """A dataset by name, by the name of a synthetic family, or by the path of a packed file.

    Args:
        name: as in ``policylearn datasets``, or a path that ends in ``.npz``.
        root: where the files are; None takes the data root.
        target: which target, for datasets with one task per target (counting: triangle, tailed_triangle, star, cycle4).
        seed: of the synthetic families' graphs; stored datasets do not depend on it.
        download: how a file that is not there is fetched; None takes pooch.
    """
    if isinstance(name, Path) or name.endswith(".npz"):
        return load_file(Path(name), target=target)
    if is_synthetic(name):
        if target is not None:
            raise DataError(f"'{name}' has one task and takes no target (got {target!r}); leave it out")
        graphs, task = synthetic_dataset(name, np.random.default_rng(seed))
        return Dataset(name, graphs, task, official_splits(graphs, name))
    entry = find_entry(name, tuple(SYNTHETIC))
    path = (data_root() if root is None else root) / entry.file
    if not path.exists():
        fetch(entry, path.parent, download)
    stored = PackedGraphs.load(path)
    check_size(entry, stored, str(path), f"put the right file there, or correct the Entry of '{name}'")
    graphs = choose_target(entry, stored, target, path)
    caveat = entry.caveat if entry.always_caveat or "origin" not in graphs.extras else None  # fetched files name theirs
    return Dataset(name, graphs, entry.build_task(graphs), make_splits(entry, graphs, path), caveat)


def load_file(path: str | Path, *, target: str | None = None, task: Task | None = None) -> Dataset:
    """A packed file of one's own, with one of its ``y_names`` or all, and a task that `infer_task` tells by default."""
    path = Path(path)
    graphs = PackedGraphs.load(path)
    if target is not None:
        graphs = choose_column(graphs, target, str(path))
    return Dataset(path.stem, graphs, task or infer_task(graphs), official_splits(graphs, str(path)))


def infer_task(graphs: PackedGraphs) -> Task:
    """Class ids where ``y`` is a flat list of integers, yes/no where it holds 0, 1 and gaps alone, else numbers."""
    level: Level = "node" if targets_are_per_node(graphs) else "graph"
    y = graphs.y
    if y.ndim == 1 and np.issubdtype(y.dtype, np.integer):
        if len(y) and y.min() < 0:
            raise DataError(f"class ids must be >= 0 (row {int(y.argmin())} is {y.min()}); number the classes from 0")
        names = tuple(map(str, range(int(y.max()) + 1 if len(y) else 1)))
        return Task("classes", "cross_entropy", "accuracy", ("class",), level, names)
    width = y.shape[1] if y.ndim > 1 else 1
    stored = [str(name) for name in graphs.extras.get("y_names", ())]
    targets = tuple(stored) if len(stored) == width else tuple(f"y{column}" for column in range(width))
    known = y[~np.isnan(y)]
    if len(known) and np.isin(known, (0, 1)).all():
        return Task("binary", "bce", "rocauc", targets, level)
    return Task("regression", "l1", "mae", targets, level)


def choose_target(entry: Entry, graphs: PackedGraphs, target: str | None, path: Path) -> PackedGraphs:
    """The graphs with the one target asked for, where the dataset has one task per target."""
    if not entry.targets and target is None:
        return graphs
    if not entry.targets:
        raise DataError(f"'{entry.name}' has one task and takes no target (got {target!r}); leave it out")
    if target not in entry.targets:
        got = f"got {target!r}; {hint(target, entry.targets, 'name one of them')}" if target else "none was given"
        raise DataError(f"'{entry.name}' has a task per target; pass target= one of {', '.join(entry.targets)} ({got})")
    return choose_column(graphs, entry.columns.get(target, target), str(path))


def choose_column(graphs: PackedGraphs, column: str, source: str) -> PackedGraphs:
    """The graphs with one of the columns that ``y_names`` names."""
    names = [str(name) for name in graphs.extras.get("y_names", ())]
    if column not in names:
        raise DataError(f"{source}: has no target '{column}'; its targets are {', '.join(names) or 'without names'}")
    at = names.index(column)
    extras = dict(graphs.extras) | {"y_names": np.array([column])}
    return replace(graphs, y=graphs.y[:, at : at + 1], extras=extras)


def make_splits(entry: Entry, graphs: PackedGraphs, path: Path) -> tuple[Split, ...]:
    """The splits that a dataset's protocol calls for."""
    if entry.protocol == "none":
        return ()
    if entry.protocol == "stratified 10-fold":
        return stratified_folds(graphs.y, k=10, shuffle=True, seed=42)
    splits = official_splits(graphs, str(path))
    if not splits:
        way_out = (
            "store the three in its extras, or declare protocol='none' and choose --data.split"
            if entry.home.unpack is None
            else f"remove the file and fetch '{entry.name}' again"
        )
        raise DataError(f"{path}: lacks train, valid and test; {way_out}")
    return splits
