"""Systems by name: what ``--model`` knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from policylearn.models.protocol import GraphModel
from policylearn.nn import Features, Level
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
    """

    node_features: Features = field(default=Features())
    edge_features: Features = field(default=Features())
    outputs: int = 1
    level: Level = "graph"
    learned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    descriptors: int = 0

    def require_graph_level(self, name: str) -> None:
        """Raise a `ValueError` where a system that predicts graphs is asked for nodes."""
        if self.level != "graph":
            raise ValueError(f"model '{name}' predicts graphs, not nodes; use the learned policy for tasks of nodes")

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
        build: from settings and inputs to a model.
        transforms: which structures the model reads, from settings and inputs.
        random_in_evaluation: whether outputs in evaluation are drawn, so that a seed belongs to them.
        note: what a user should know before choosing it, such as what it needs in memory.
    """

    name: str
    title: str
    settings: type[Any]
    build: Callable[[Any, Inputs], GraphModel]
    transforms: Callable[[Any, Inputs], Sequence[TransformSpec]] = lambda _settings, _inputs: ()
    random_in_evaluation: bool = False
    note: str = ""


SYSTEMS: dict[str, System] = {}


def graph_level(inputs: Inputs, name: str) -> Inputs:
    """The inputs of a system that predicts for graphs alone, or a `ValueError` for a task of nodes."""
    if inputs.level != "graph":
        raise ValueError(f"'{name}' predicts for graphs, but the task is of nodes; leave 'model' out")
    return inputs


def register(system: System) -> System:
    """Make a system known under its name; returns it."""
    if system.name in SYSTEMS:
        raise ValueError(f"there are two systems of the name '{system.name}'; give one of them another name")
    SYSTEMS[system.name] = system
    return system


def find_system(name: str) -> System:
    """The system of that name, or a `ValueError` with the nearest known one."""
    import policylearn.models.systems  # noqa: F401 - every file there registers what it holds

    if name not in SYSTEMS:
        way_out = hint(name, SYSTEMS, f"there are {', '.join(sorted(SYSTEMS))}")
        raise ValueError(f"there is no model '{name}'; {way_out}")
    return SYSTEMS[name]
