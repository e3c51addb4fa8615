"""Systems by name: what ``--model`` knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from policylearn.models.protocol import GraphModel
from policylearn.nn import Features
from policylearn.settings import Level
from policylearn.wording import hint

TransformSpec = tuple[str, Mapping[str, Any]]
"""Name and settings of a transform of the data (`data.transforms`) whose structures a system reads."""


@dataclass(frozen=True)
class Inputs:
    """What the data gives and the task wants; what a system is built for besides its own settings.

    Args:
        node_features: what nodes come with.
        edge_features: what edges come with.
        outputs: width of the output.
        level: whether a prediction belongs to a graph or to a node.
        learned: what transforms learned from the training graphs (vocabularies, degrees), by their name; one that
            learns nothing has an entry too.
        descriptors: numbers per graph in the extra 'descriptors'.
        regression: whether the targets are numbers, and not classes.
    """

    node_features: Features = field(default=Features())
    edge_features: Features = field(default=Features())
    outputs: int = 1
    level: Level = "graph"
    learned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    descriptors: int = 0
    regression: bool = False

    def learned_by(self, transform: str) -> Mapping[str, Any]:
        """What a transform learned, or a `ValueError` where the system is built before that."""
        if transform not in self.learned:
            raise ValueError(
                f"the model needs what the transform '{transform}' learns from the training graphs;"
                " fit it first (fit_apply) and hand its learned values to Inputs(learned=...)"
            )
        return self.learned[transform]


@dataclass(frozen=True)
class System:
    """A published system: its settings, how it is built, and what it needs of the data.

    Args:
        name: as in ``--model``.
        title: one line for people, with authors and year.
        settings: a frozen dataclass; its attributes have docstrings and become options.
        network: from settings and inputs to a model; see `built` where a class takes just those.
        transforms: which structures the model reads, from settings and inputs.
        levels: what it can predict for.
        random_in_evaluation: whether outputs in evaluation are drawn, so that a seed belongs to them.
        note: what a user should know before choosing it, such as what it needs in memory.
    """

    name: str
    title: str
    settings: type[Any]
    network: Callable[[Any, Inputs], GraphModel]
    transforms: Callable[[Any, Inputs], Sequence[TransformSpec]] = lambda _settings, _inputs: ()
    levels: tuple[Level, ...] = ("graph",)
    random_in_evaluation: bool = False
    note: str = ""

    def build(self, settings: Any, inputs: Inputs) -> GraphModel:
        """The model, or a `ValueError` where it cannot predict what the task wants."""
        if inputs.level not in self.levels:
            raise ValueError(f"model '{self.name}' predicts graphs, not nodes; leave 'model' out for tasks of nodes")
        return self.network(settings, inputs)


SYSTEMS: dict[str, System] = {}


def built(network: Callable[..., GraphModel], *, but: Sequence[str] = ()) -> Callable[[Any, Inputs], GraphModel]:
    """How a class is built that takes features, outputs and its settings by their names.

    Args:
        network: the class.
        but: settings that only transforms read.
    """

    def build(settings: Any, inputs: Inputs) -> GraphModel:
        return network(inputs.node_features, inputs.edge_features, outputs=inputs.outputs, **values(settings, but=but))

    return build


def values(settings: Any, *, but: Sequence[str] = ()) -> dict[str, Any]:
    """Settings by their names, without some."""
    return {one.name: getattr(settings, one.name) for one in fields(settings) if one.name not in but}


def register(system: System) -> System:
    """Make a system known under its name; returns it."""
    if system.name in SYSTEMS:
        raise ValueError(f"there are two systems of the name '{system.name}'; give one of them another name")
    SYSTEMS[system.name] = system
    return system


def all_systems() -> tuple[System, ...]:
    """Every system there is, by name."""
    import policylearn.models.systems  # noqa: F401 - every file there registers what it holds

    return tuple(SYSTEMS[name] for name in sorted(SYSTEMS))


def find_system(name: str) -> System:
    """The system of that name, or a `ValueError` with the nearest known one."""
    all_systems()
    if name not in SYSTEMS:
        way_out = hint(name, SYSTEMS, f"there are {', '.join(sorted(SYSTEMS))}")
        raise ValueError(f"there is no model '{name}'; {way_out}")
    return SYSTEMS[name]
