"""What is measured: methods, datasets, phases, and how they go together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import product
from typing import Literal

from policylearn.models import EstimatorName, NetworkConfig, PolicyConfig
from policylearn.settings import PolicyName
from policylearn.settings.choices import LEARNING
from policylearn.wording import hint

Phase = Literal["train", "infer"]
Contender = Literal["ours", "replicated", "limit"]
PHASES: tuple[Phase, ...] = ("train", "infer")
Form = Literal["plain", "compiled", "cones"]
"""A model in plain PyTorch, with compiled layers, or with these and cones of marks at inference."""

BATCH_SIZES = {"zinc": 128, "ogbg-molhiv": 128, "reddit-binary": 32}
"""Graphs of a batch, of the datasets that are measured unless others are named; any other dataset has `BATCH_SIZE`."""
BATCH_SIZE = 128


@dataclass(frozen=True)
class Case:
    """A method with its number of picks."""

    name: str
    policy: PolicyName
    picks: int = 0

    @property
    def learns(self) -> bool:
        """Whether picks are learned."""
        return self.policy in LEARNING

    @property
    def title(self) -> str:
        return f"{self.policy} T={self.picks}" if self.picks else self.policy

    def config(self, estimator: EstimatorName | None) -> PolicyConfig:
        """The policy's settings: the defaults, with an estimator where it has one."""
        if estimator is None:
            return PolicyConfig(name=self.policy, picks=self.picks)
        return PolicyConfig(name=self.policy, picks=self.picks, estimator=estimator)


CASES = {
    case.name: case
    for case in (
        Case("learned-t2", "learned", 2),
        Case("learned-t5", "learned", 5),
        Case("learned-t8", "learned", 8),
        Case("random-t2", "random", 2),
        Case("full", "full"),
        Case("none", "none"),
    )
}
QUICK_CASES = ("learned-t2", "learned-t5", "random-t2", "full", "none")
NO_TRAINING = (("reddit-binary", "full"),)
"""The full bag of its graphs is only streamed: the gradients of a batch would need hundreds of gigabytes."""


@dataclass(frozen=True)
class Settings:
    """One run of the benchmark.

    Args:
        datasets: by name.
        cases: names of `CASES`.
        rounds: how often each is timed.
        threads: of torch and of our own kernels.
        layers: of both networks.
        channels: of both networks.
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
        for name in self.cases:
            if name not in CASES:
                way_out = hint(name, CASES, f"the cases are {', '.join(CASES)}")
                raise ValueError(f"there is no case '{name}'; {way_out}")
        least = {"rounds": 1, "threads": 1, "layers": 1, "channels": 2, "batch_size": 1, "growth_nodes": 0}
        for field, bound in least.items():
            value = getattr(self, field)
            if value is not None and value < bound:
                raise ValueError(f"'{field.replace('_', '-')}' must be >= {bound} (got {value})")
        if 0 < self.growth_nodes < 10**3:
            raise ValueError(
                f"'growth-nodes' must be 0 or >= 1000 (got {self.growth_nodes}); sizes go down from it by tens"
            )

    @property
    def network(self) -> NetworkConfig:
        return NetworkConfig(layers=self.layers, channels=self.channels)

    def graphs_of(self, dataset: str) -> int:
        """Graphs of a batch."""
        return BATCH_SIZES.get(dataset, BATCH_SIZE) if self.batch_size is None else self.batch_size


@dataclass(frozen=True)
class CaseGroup:
    """What is interleaved: all cases of a dataset in one phase.

    Args:
        dataset: by name.
        phase: a training step or inference.
        deterministic: under torch's deterministic algorithms.
        cases: which.
    """

    dataset: str
    phase: Phase
    deterministic: bool
    cases: tuple[Case, ...]

    @property
    def title(self) -> str:
        return f"{self.dataset}, {self.phase}{', deterministic' if self.deterministic else ''}"

    def estimators(self, case: Case) -> tuple[EstimatorName | None, ...]:
        """Training a learned policy is measured with both; elsewhere there is nothing to estimate."""
        return ("straight_through", "rloo") if case.learns and self.phase == "train" else (None,)


def plan(settings: Settings) -> list[CaseGroup]:
    """The groups of a run, in their order."""
    groups = []
    for dataset, phase, deterministic in product(settings.datasets, PHASES, (False, True)):
        names = [name for name in settings.cases if phase == "infer" or (dataset, name) not in NO_TRAINING]
        if deterministic:
            names = [name for name in names if _also_deterministic(settings, dataset, name)]
        if names:
            groups.append(CaseGroup(dataset, phase, deterministic, tuple(CASES[name] for name in names)))
    return groups


def _also_deterministic(settings: Settings, dataset: str, case: str) -> bool:
    """All of ZINC; elsewhere, and in a quick run, the pair that the paper's timing table has."""
    return (dataset == "zinc" and not settings.quick) or case in ("learned-t2", "random-t2")
