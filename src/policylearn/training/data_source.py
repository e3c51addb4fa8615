"""From the name in a configuration to graphs, task and splits, and to what a model must know of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from policylearn.data import (
    DataError,
    Dataset,
    PackedGraphs,
    Split,
    Task,
    infer_task,
    load_dataset,
    official_splits,
    random_split,
    read_table,
    rotating_folds,
    scaffold_split,
    stratified_folds,
)
from policylearn.data.convert import TableReport, is_table, table_columns
from policylearn.data.molecules import ATOM_FEATURES, BOND_FEATURES, feature_tables
from policylearn.data.scaffolds import with_rare_labels
from policylearn.data.splits import PARTS
from policylearn.data.subset import targets_of
from policylearn.data.tasks import standardise
from policylearn.nn import Features
from policylearn.settings.run_config import DataConfig, SplitName

OGB, OGB_OF_PARENTS = "ogb", "ogb of parents"
"""How SMILES become graphs: OGB's features of the molecule as it is given, or of its parent."""
LEAST_ROWS = 10
"""Of a part, or of a label, from which a tenth can be taken."""


@dataclass(frozen=True)
class Source:
    """What a run learns from: graphs, task and splits, and what the model and the user must know of them."""

    dataset: Dataset
    node_features: Features
    edge_features: Features
    molecules: bool
    """Whether graphs come from SMILES, so that SMILES can be predicted on."""
    parents: bool = False
    """Whether salts and charged molecules among these were read as their parent."""
    report: TableReport | None = None
    """What reading a table found; None for other data."""
    explanation: str = ""
    """How a table's task was found."""
    split_note: str = ""
    """What is unusual about a table's split."""

    @property
    def featuriser(self) -> str | None:
        """How SMILES become graphs; None where the data are no molecules."""
        return None if not self.molecules else OGB_OF_PARENTS if self.parents else OGB


def load_source(config: DataConfig) -> Source:
    """Load the data that a configuration names."""
    if not config.name:
        raise DataError("no data is named; give a dataset, a packed .npz or a CSV of SMILES")
    if is_table(config.name):
        return _from_table(config)
    target = config.target[0] if config.target else None
    if len(config.target) > 1:
        raise DataError(f"'{config.name}' takes one target (got {', '.join(config.target)})")
    dataset = _split(load_dataset(config.name, target=target), config)
    if config.name.endswith(".npz") and dataset.task.kind == "regression":
        dataset = _standardised(dataset)
    ogb = has_ogb_features(dataset.graphs)
    return Source(dataset, *describe_features(dataset.graphs, ogb), molecules=ogb)


def graphs_source(
    graphs: PackedGraphs, task: Task | None = None, *, split: Split | None = None, seed: int = 0, name: str = "memory"
) -> Source:
    """What a run learns from, where the graphs are in memory: no file is read.

    Args:
        graphs: with their targets; `pack_pyg` and `pack_networkx` make them.
        task: what to predict; None infers it from the targets.
        split: the graphs of each part; None draws 80 / 10 / 10 percent.
        seed: of that draw.
        name: of the data, in the run's files.
    """
    task = task or infer_task(graphs)
    parts = split or random_split(len(graphs), (0.8, 0.1, 0.1), np.random.default_rng(seed))
    dataset = Dataset(name, graphs, task, (parts.validate(len(graphs), name),))
    _check_parts(dataset, "random" if split is None else "official")
    if task.kind == "regression" and task.scaling is None:
        dataset = _standardised(dataset)
    molecules = has_ogb_features(graphs)
    return Source(dataset, *describe_features(graphs, molecules), molecules)


def _from_table(config: DataConfig) -> Source:
    path, parents = Path(config.name), config.standardise == "parent"
    if not config.target:
        columns = ", ".join(map(repr, table_columns(path)))
        raise DataError(f"{config.name}: say which column to predict, with --target COLUMN; its columns are {columns}")
    table = read_table(
        path,
        config.smiles,
        list(config.target),
        task=config.task,
        split_column=config.split_column,
        group_column=config.group_column,
        parents=parents,
        on_error=config.on_error,
    )
    split: SplitName = config.split or ("column" if config.split_column else "scaffold")
    dataset = Dataset(path.name, table.graphs, table.task, ())
    dataset = _split(dataset, config.replace(split=split))
    note = ""
    if config.split is None and split == "scaffold":
        dataset, note = _with_rare_labels(dataset)
    elif split == "column" and not len(dataset.splits[0].valid):
        dataset, note = _with_validation(dataset, config.split_seed)
    if split != "folds":
        _check_parts(dataset, split)
    if table.task.scaling is not None:
        dataset = _standardised(dataset)
    features = describe_features(table.graphs, True)
    return Source(dataset, *features, True, parents, table.report, table.explanation, note)


def _standardised(dataset: Dataset) -> Dataset:
    """Targets scaled by the mean and deviation of the training part: the network may see no others."""
    targets = targets_of(dataset.graphs, dataset.splits[0].train)
    scaling = standardise(targets.reshape(len(targets), -1))
    return replace(dataset, task=replace(dataset.task, scaling=scaling))


def _with_rare_labels(dataset: Dataset) -> tuple[Dataset, str]:
    """The dataset with labels in all parts of its scaffold split where that can be, and what to say of it."""
    graphs, (split,) = dataset.graphs, dataset.splits
    if dataset.task.kind == "regression" or graphs.smiles is None:
        return dataset, ""
    labels = graphs.y.reshape(len(graphs), -1).astype(np.float64)
    better = with_rare_labels(split, graphs.smiles, labels, dataset.name)
    if better is split:
        return dataset, ""
    note = "the usual scaffold split leaves a label out of a part, so scaffolds are shared out by labels too"
    return replace(dataset, splits=(better,)), note


def _with_validation(dataset: Dataset, seed: int) -> tuple[Dataset, str]:
    """The dataset with a tenth of the training rows as its validation part, and what to say of it."""
    from sklearn.model_selection import train_test_split

    (split,), task = dataset.splits, dataset.task
    if len(split.train) < LEAST_ROWS:
        return dataset, ""
    labels = None
    if task.kind != "regression" and len(task.targets) == 1:
        labels = dataset.graphs.y[split.train].reshape(-1)
        labels = labels if np.unique(labels, return_counts=True)[1].min() >= LEAST_ROWS else None
    train, valid = train_test_split(split.train, test_size=0.1, random_state=seed, stratify=labels)
    note = (
        f"the split column names no validation rows: {len(valid)} of the {len(split.train)} training rows, drawn at"
        f" random (--data.split_seed {seed}), validate"
    )
    parts = Split(np.sort(train), np.sort(valid), split.test).validate(len(dataset.graphs), dataset.name)
    return replace(dataset, splits=(parts,)), note


def _check_parts(dataset: Dataset, split: SplitName) -> None:
    """Raise where a part has no row: a training would find out at its end."""
    sizes = {part: len(getattr(dataset.splits[0], part)) for part in PARTS}
    empty = [part for part, size in sizes.items() if not size]
    if empty:
        found = ", ".join(f"{part} {size}" for part, size in sizes.items())
        raise DataError(
            f"{dataset.name}: the {split} split of its {len(dataset.graphs)} rows leaves none for '{empty[0]}'"
            f" ({found}); give more rows, split with --data.split random (ten rows at least), or name a"
            " --data.split_column that says train, valid and test"
        )


def _split(dataset: Dataset, config: DataConfig) -> Dataset:
    """The dataset with the split that was asked for, its own one by default."""
    graphs = dataset.graphs
    if config.split in (None, "official", "column"):
        splits = dataset.splits or official_splits(graphs, dataset.name)
        if not splits:
            raise DataError(f"'{dataset.name}' has no split of its own; choose one, such as --data.split random")
    elif config.split == "random":
        splits = tuple(
            random_split(len(graphs), (0.8, 0.1, 0.1), np.random.default_rng(config.split_seed + repeat))
            for repeat in range(config.repeats)
        )
    elif config.split == "scaffold":
        if graphs.smiles is None:
            raise DataError(f"'{dataset.name}' has no SMILES to take scaffolds from; use --data.split random")
        splits = (scaffold_split(graphs.smiles, source=dataset.name),)
    elif is_table(config.name):
        labels = None if dataset.task.kind == "regression" or len(dataset.task.targets) > 1 else graphs.y.reshape(-1)
        splits = rotating_folds(len(graphs), config.folds, labels=labels, seed=config.split_seed)
    else:
        splits = stratified_folds(graphs.y, k=10, shuffle=True, seed=42)
    return replace(dataset, splits=splits)


def has_ogb_features(graphs: PackedGraphs) -> bool:
    """Whether graphs are molecules with OGB's features, so that a model of them reads SMILES."""
    widths = [values.shape[1] if values.ndim == 2 else 1 for values in (graphs.x, graphs.edge_attr)]
    return graphs.smiles is not None and widths == [ATOM_FEATURES, BOND_FEATURES]


def describe_features(graphs: PackedGraphs, ogb: bool) -> tuple[Features, Features]:
    """What the columns of x and edge_attr hold: OGB's categories (``ogb``), other categories, numbers, or nothing."""
    if ogb:
        tables = feature_tables()
        return Features(tables.atom_sizes), Features(tables.bond_sizes)
    return _describe(graphs.x, constant_is_nothing=True), _describe(graphs.edge_attr, constant_is_nothing=False)


def _describe(values: np.ndarray, *, constant_is_nothing: bool) -> Features:
    columns = values.reshape(len(values), -1) if values.size else np.zeros((0, 0))
    if columns.shape[1] == 0 or (constant_is_nothing and (columns == columns[0]).all()):
        return Features()
    if np.issubdtype(columns.dtype, np.floating):
        return Features(real=columns.shape[1])
    if columns.min() < 0:
        raise DataError(f"category ids must be >= 0 (got {columns.min()}); store numbers as floating point")
    return Features(tuple(int(top) + 1 for top in columns.max(axis=0)))
