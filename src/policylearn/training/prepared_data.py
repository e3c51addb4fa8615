"""The data of a training with the structures that its model reads, and what transforms learned on the way."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from policylearn.data import DataError, Dataset, PackedGraphs, Task
from policylearn.data.structures import FINGERPRINT, REAL_COLUMNS
from policylearn.data.transforms import Progress, Transform, apply, fit_apply, transform_cache
from policylearn.models import Inputs, chosen_system
from policylearn.nn import DESCRIPTORS, Features
from policylearn.settings.run_config import DataConfig, RunConfig
from policylearn.training.data_source import Source

GRAPHS_PER_WORKER = 1000
"""Fewer are not worth a process of their own."""


@runtime_checkable
class TransformListener(Protocol):
    """A callback of a training that wants to know how far its transforms are."""

    def on_transform(self, name: str, done: int, total: int) -> None:
        """Of all graphs so many have their structures of this name."""


@dataclass(frozen=True)
class PreparedData:
    """What one training learns from.

    Args:
        dataset: with the structures of all transforms.
        transforms: with what they learned from the training graphs.
        inputs: what a model is built for.
    """

    dataset: Dataset
    transforms: tuple[Transform, ...]
    inputs: Inputs

    @property
    def columns(self) -> dict[str, int]:
        """Numbers of nodes and of graphs that structures add, by the structure's name."""
        counts = {name: count_columns(self.dataset.graphs, name) for name in (REAL_COLUMNS, DESCRIPTORS)}
        return {name: count for name, count in counts.items() if count}


def prepare_data(config: RunConfig, source: Source, fold: int = 0, *, listeners: Sequence[object] = ()) -> PreparedData:
    """Apply the transforms that the model asks for and those that the user chose, learning from training graphs alone.

    Args:
        config: the run.
        source: its data.
        fold: which of the splits.
        listeners: told how far it is, those that are a `TransformListener`.
    """
    dataset = source.dataset
    system, settings = chosen_system(config)
    inputs = make_inputs(dataset.task, source, dataset.graphs, ())
    specs = system.transforms(settings, inputs)
    asked = [Transform.from_json({"name": name, **dict(given)}) for name, given in specs]
    chosen = [transform for transform in chosen_transforms(config.data) if transform not in asked]
    if not asked and not chosen:
        return PreparedData(dataset, (), inputs)

    def fitted_on(graphs: PackedGraphs, transforms: Sequence[Transform]) -> tuple[tuple[Transform, ...], PackedGraphs]:
        return fit_apply(
            transforms,
            graphs,
            dataset.splits[fold].train,
            cache=transform_cache(),
            workers=count_workers(config.data, len(dataset)),
            progress=progress_of(listeners),
        )

    of_model, graphs = fitted_on(dataset.graphs, asked)
    read = {*graphs.structures, REAL_COLUMNS, FINGERPRINT, *system.reads}
    of_user, graphs = fitted_on(graphs, chosen)
    fitted, unread = of_model + of_user, graphs.structures.keys() - read
    if unread:
        raise DataError(
            f"'data.transforms': nothing in the model '{config.model}' reads the structure '{min(unread)}';"
            f" give its transform the setting into: {REAL_COLUMNS}, or leave it out"
        )
    return PreparedData(replace(dataset, graphs=graphs), fitted, make_inputs(dataset.task, source, graphs, fitted))


def chosen_transforms(config: DataConfig) -> tuple[Transform, ...]:
    """The transforms that a configuration names, in its order; one that is null is left out."""
    chosen = []
    for name, settings in config.transforms.items():
        if settings is None:
            continue
        if not isinstance(settings, Mapping):
            raise DataError(
                f"'data.transforms.{name}' must be a mapping of settings to values, which may be empty (got {settings})"
            )
        chosen.append(Transform.from_json({"name": name, **settings}))
    return tuple(chosen)


def count_workers(config: DataConfig, graphs: int) -> int:
    """How many processes compute structures."""
    if config.workers < 0:
        raise DataError(f"'data.workers' must be >= 0 (got {config.workers}); 0 chooses by itself")
    return config.workers or max(1, min(os.cpu_count() or 1, graphs // GRAPHS_PER_WORKER))


def progress_of(listeners: Sequence[object]) -> Progress:
    """What tells all listeners."""
    listening = [listener for listener in listeners if isinstance(listener, TransformListener)]

    def tell(name: str, done: int, total: int) -> None:
        for listener in listening:
            listener.on_transform(name, done, total)

    return tell


def make_inputs(task: Task, source: Source, graphs: PackedGraphs, transforms: Sequence[Transform]) -> Inputs:
    """What a model is built for."""
    return Inputs(
        node_features=add_real(source.node_features, count_columns(graphs, REAL_COLUMNS)),
        edge_features=source.edge_features,
        outputs=task.outputs,
        level=task.level,
        learned=learned_of(transforms),
        descriptors=count_columns(graphs, DESCRIPTORS),
        regression=task.kind == "regression",
    )


def count_columns(graphs: PackedGraphs, name: str) -> int:
    """How many numbers a structure has per row; 0 where there is none."""
    structure = graphs.structures.get(name)
    return 0 if structure is None else int(structure.values.shape[1])


def add_real(features: Features, columns: int) -> Features:
    """Features with further columns of numbers."""
    return replace(features, real=features.real + columns)


def learned_of(transforms: Sequence[Transform]) -> dict[str, dict[str, Any]]:
    """What each transform learned, by its name; of two of one name the first counts."""
    found: dict[str, dict[str, Any]] = {}
    for transform in transforms:
        found.setdefault(transform.name, {name: getattr(transform, name) for name in transform.learned})
    return found


def apply_stored(
    transforms: Sequence[Mapping[str, Any]],
    graphs: PackedGraphs,
    *,
    columns: Mapping[str, int],
    source: str,
    cached: bool = False,
    workers: int = 1,
) -> PackedGraphs:
    """Further graphs with the structures that the training graphs had.

    Args:
        transforms: as a run stores them.
        graphs: the graphs.
        columns: how wide some structures must be, by name.
        source: names the graphs in messages.
        cached: whether to keep the results on disk.
        workers: processes.
    """
    fitted = [Transform.from_json(stored) for stored in transforms]
    done = apply(fitted, graphs, cache=transform_cache() if cached else None, workers=workers)
    check_columns(done, columns, source)
    return done


def check_columns(graphs: PackedGraphs, columns: Mapping[str, int], source: str) -> None:
    """Raise a `DataError` where a structure is not as wide as the model reads it.

    Args:
        graphs: with their structures.
        columns: how wide some structures must be, by name.
        source: names the graphs in messages.
    """
    for name, wanted in columns.items():
        found = count_columns(graphs, name)
        if found != wanted:
            raise DataError(
                f"{source}: the graphs have {found} columns of '{name}', the model was trained on {wanted};"
                " give them the structures that the training data had"
            )
