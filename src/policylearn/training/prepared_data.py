"""The data of a training with the structures that its model reads, and what transforms learned on the way."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from policylearn.data import DataError, Dataset, PackedGraphs, Task
from policylearn.data.structures import FINGERPRINT, REAL_COLUMNS
from policylearn.data.transforms import Transform, apply, fit_apply, transform_cache
from policylearn.models import Inputs, chosen_system
from policylearn.nn import DESCRIPTORS, Features
from policylearn.settings.run_config import DataConfig, RunConfig
from policylearn.training.data_source import Source

GRAPHS_PER_WORKER = 1000
"""Fewer are not worth a process of their own."""


@dataclass(frozen=True)
class PreparedData:
    """A dataset with the structures of all transforms, what these learned, and what a model is built for."""

    dataset: Dataset
    transforms: tuple[Transform, ...]
    inputs: Inputs

    @property
    def columns(self) -> dict[str, int]:
        """Numbers of nodes and of graphs that structures add, by the structure's name."""
        return columns_of(self.dataset.graphs)


def prepare_data(config: RunConfig, source: Source, fold: int = 0, *, callbacks: Sequence[Any] = ()) -> PreparedData:
    """Apply the transforms that the model asks for and those that the user chose, learning from training graphs alone.

    Callbacks with a method ``on_transform(name, done, total)`` are told how far it is.
    """
    dataset, features = source.dataset, (source.node_features, source.edge_features)
    system, settings = chosen_system(config)
    inputs = make_inputs(dataset.task, *features, {}, ())
    asked = [Transform.from_json({"name": name, **given}) for name, given in system.transforms(settings, inputs)]
    chosen = [transform for transform in chosen_transforms(config.data) if transform not in asked]
    told = [callback.on_transform for callback in callbacks if hasattr(callback, "on_transform")]

    def progress(name: str, done: int, total: int) -> None:
        for tell in told:
            tell(name, done, total)

    def fitted_on(graphs: PackedGraphs, transforms: Sequence[Transform]) -> tuple[tuple[Transform, ...], PackedGraphs]:
        workers, train = count_workers(config.data, len(dataset)), dataset.splits[fold].train
        return fit_apply(transforms, graphs, train, cache=transform_cache(), workers=workers, progress=progress)

    of_model, graphs = fitted_on(dataset.graphs, asked)
    read = {*graphs.structures, REAL_COLUMNS, FINGERPRINT, *system.reads}
    of_user, graphs = fitted_on(graphs, chosen)
    unread = graphs.structures.keys() - read
    if unread:
        raise DataError(
            f"'data.transforms': nothing in the model '{config.model}' reads the structure '{min(unread)}';"
            f" give its transform the setting into: {REAL_COLUMNS}, or leave it out"
        )
    fitted = of_model + of_user
    inputs = make_inputs(dataset.task, *features, columns_of(graphs), fitted)
    return PreparedData(replace(dataset, graphs=graphs), fitted, inputs)


def chosen_transforms(config: DataConfig) -> tuple[Transform, ...]:
    """The transforms that a configuration names, in its order; one that is null is left out."""
    chosen = []
    for name, settings in config.transforms.items():
        if settings is None:
            continue
        if not isinstance(settings, Mapping):
            raise DataError(f"'data.transforms.{name}' must be a mapping of settings, such as {{}} (got {settings})")
        chosen.append(Transform.from_json({"name": name, **settings}))
    return tuple(chosen)


def count_workers(config: DataConfig, graphs: int) -> int:
    """How many processes compute structures."""
    return config.workers or max(1, min(os.cpu_count() or 1, graphs // GRAPHS_PER_WORKER))


def make_inputs(
    task: Task,
    node_features: Features,
    edge_features: Features,
    columns: Mapping[str, int],
    transforms: Sequence[Transform],
) -> Inputs:
    """What a model is built for; ``columns`` are the numbers that structures add, by the structure's name."""
    return Inputs(
        node_features=replace(node_features, real=node_features.real + columns.get(REAL_COLUMNS, 0)),
        edge_features=edge_features,
        outputs=task.outputs,
        level=task.level,
        learned=learned_of(transforms),
        descriptors=columns.get(DESCRIPTORS, 0),
        regression=task.kind == "regression",
    )


def columns_of(graphs: PackedGraphs) -> dict[str, int]:
    """Numbers per node and per graph that structures add, by the structure's name."""
    named = {name: graphs.structures[name] for name in (REAL_COLUMNS, DESCRIPTORS) if name in graphs.structures}
    return {name: int(one.values.shape[1]) for name, one in named.items() if one.values.shape[1]}


def learned_of(transforms: Sequence[Transform]) -> dict[str, dict[str, Any]]:
    """What each transform learned, by its name; of two of one name the first counts."""
    return {one.name: {name: getattr(one, name) for name in one.learned} for one in reversed(transforms)}


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

    Transforms are given as a run stores them, ``columns`` say how wide some structures must be, and the ``source``
    names the graphs in messages. Results are kept on disk if ``cached``.
    """
    fitted = [Transform.from_json(stored) for stored in transforms]
    done = apply(fitted, graphs, cache=transform_cache() if cached else None, workers=workers)
    check_columns(done, columns, source)
    return done


def check_columns(graphs: PackedGraphs, columns: Mapping[str, int], source: str) -> None:
    """Raise a `DataError` that names the ``source`` where a structure is not as wide as the model reads it."""
    there = columns_of(graphs)
    for name, wanted in columns.items():
        if there.get(name, 0) != wanted:
            raise DataError(
                f"{source}: the graphs have {there.get(name, 0)} columns of '{name}', the model was trained on"
                f" {wanted}; give them the structures that the training data had"
            )
