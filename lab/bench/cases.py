"""What is measured: methods, datasets, phases, and how they go together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from policylearn.nn import NetworkConfig
from policylearn.wording import hint

Phase = Literal["train", "infer"]
PHASES: tuple[Phase, ...] = ("train", "infer")
Contender = Literal["ours", "plain", "replicated"]
CONTENDERS: tuple[Contender, ...] = ("ours", "plain", "replicated")
"""Our model, the same in plain PyTorch, and the method as it is usually written with PyG."""
BATCH_SIZES = {"zinc": 128, "ogbg-molhiv": 128, "reddit-binary": 32}
"""Graphs of a batch, of the datasets that are measured unless others are named; any other dataset has `BATCH_SIZE`."""
BATCH_SIZE = 128


@dataclass(frozen=True)
class Case:
    """A policy with its number of picks; an estimator that is not the default is named, and timed in training alone."""

    name: str
    policy: str
    picks: int = 0
    estimator: str = ""

    @property
    def learns(self) -> bool:
        """Whether picks are learned."""
        return self.policy == "learned"

    @property
    def title(self) -> str:
        words = [f"{self.policy} T={self.picks}" if self.picks else self.policy, self.estimator]
        return ", ".join(filter(None, words))

    @property
    def selection(self) -> dict[str, Any]:
        """The settings of the policy."""
        given = {"name": self.policy, "picks": self.picks, "estimator": self.estimator}
        return {key: value for key, value in given.items() if value}


CASES = {
    case.name: case
    for case in (
        Case("learned-t2", "learned", 2),
        Case("straight-t2", "learned", 2, "straight_through"),
        Case("learned-t5", "learned", 5),
        Case("straight-t5", "learned", 5, "straight_through"),
        Case("random-t2", "random", 2),
        Case("full", "full"),
        Case("none", "none"),
    )
}
QUICK_CASES = ("learned-t2", "straight-t2", "learned-t5", "random-t2", "full", "none")
NO_TRAINING = (("reddit-binary", "full"),)
"""The full bag of its graphs is only streamed: the gradients of a batch would need hundreds of gigabytes."""


@dataclass(frozen=True)
class BenchSettings:
    """One run of the benchmark.

    Args:
        datasets: by name.
        cases: names of `CASES`.
        rounds: how often each is timed.
        threads: of torch and of our own kernels.
        layers: of all networks.
        channels: of all networks.
        batch_size: graphs of a batch; None takes those of `BATCH_SIZES`.
        growth_nodes: the largest graph of the measurement of cost against size; 0 leaves it out.
        families: of those graphs.
        memory: measure peak memory, in processes of their own.
        quick: leave out what takes long.
        seconds: how long the rounds of one contender may take together; slower ones get fewer rounds.
    """

    datasets: tuple[str, ...] = tuple(BATCH_SIZES)
    cases: tuple[str, ...] = tuple(CASES)
    rounds: int = 7
    threads: int = min(2, os.cpu_count() or 1)
    layers: int = 6
    channels: int = 64
    batch_size: int | None = None
    growth_nodes: int = 10**6
    families: tuple[str, ...] = ("path", "grid", "sparse")
    memory: bool = True
    quick: bool = False
    seconds: float = 120.0

    def __post_init__(self) -> None:
        check_names(self.cases, tuple(CASES))
        check_least(self, rounds=1, threads=1, layers=1, channels=2, batch_size=1, growth_nodes=0)
        if 0 < self.growth_nodes < 10**3:
            raise ValueError(f"'growth-nodes' must be 0 or >= 1000 (got {self.growth_nodes})")

    @property
    def network(self) -> NetworkConfig:
        return NetworkConfig(layers=self.layers, channels=self.channels)

    def graphs_of(self, dataset: str) -> int:
        """Graphs of a batch."""
        return BATCH_SIZES.get(dataset, BATCH_SIZE) if self.batch_size is None else self.batch_size


def check_names(names: tuple[str, ...], known: tuple[str, ...]) -> None:
    """Raise a `ValueError` for a case that does not exist."""
    for name in names:
        if name not in known:
            way_out = hint(name, known, f"the cases are {', '.join(known)}")
            raise ValueError(f"there is no case '{name}'; {way_out}")


def check_least(settings: object, **least: int) -> None:
    """Raise a `ValueError` for a setting below its bound; None passes."""
    for field, bound in least.items():
        value = getattr(settings, field)
        if value is not None and value < bound:
            raise ValueError(f"'{field.replace('_', '-')}' must be >= {bound} (got {value})")


@dataclass(frozen=True)
class CaseGroup:
    """What is interleaved: all cases of a dataset in one phase."""

    dataset: str
    phase: Phase
    cases: tuple[Case, ...]


def plan(settings: BenchSettings) -> list[CaseGroup]:
    """The groups of a run, in their order."""
    groups = []
    for dataset, phase in product(settings.datasets, PHASES):
        skipped = (
            {name for data, name in NO_TRAINING if data == dataset}
            if phase == "train"
            else {case.name for case in CASES.values() if case.estimator}
        )
        cases = tuple(CASES[name] for name in settings.cases if name not in skipped)
        groups += [CaseGroup(dataset, phase, cases)] if cases else []
    return groups
