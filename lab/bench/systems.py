"""What every system of the field costs beside the policies: a training step, inference, weights and peak memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch_geometric.data import Batch

from lab.bench.cases import BATCH_SIZE, BATCH_SIZES, PHASES, Phase, check_least, check_names
from lab.bench.contenders import Batches
from lab.bench.interleave import rounds_within, time_once
from lab.bench.memory import MemoryLimitError, available, forget_peak, peak, resident, run_alone
from lab.bench.record import Timing
from lab.reproduce.timing import TrainingSteps
from policylearn.bags import RowLimitError
from policylearn.data import make_batch
from policylearn.fast import keep_freed_memory
from policylearn.models import SYSTEMS, calibrate
from policylearn.settings import RunConfig
from policylearn.settings.run_config import POLICY_LEARN
from policylearn.training import Source, make_model, run_config
from policylearn.training.evaluation import scored
from policylearn.training.prepared_data import prepare_data

SYSTEM = "system"
"""The contender of these timings."""
POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "none": ("GIN (no marks)", {"name": "none"}),
    "random-t2": ("Random T=2", {"name": "random", "picks": 2}),
    "random-t5": ("Random T=5", {"name": "random", "picks": 5}),
    "learned-t2": ("Policy-learn T=2", {"name": "learned", "picks": 2}),
    "learned-t5": ("Policy-learn T=5", {"name": "learned", "picks": 5}),
    "full": ("Full", {"name": "full"}),
}
"""Title and settings of the policies that stand beside the systems."""
UNIT = "random-t2"
"""In units of whose time the others are given."""
TRIAL_GRAPHS = 8
"""Graphs of the batch on which everything is compiled and the norms' statistics are taken."""
SHORT = 4.0
"""Seconds; what takes longer is not run a second time ahead of each time that is taken."""
MEMORY_SHARE = 0.5
"""Of the memory that is free, as much as one of them may hold: on a shared machine others need theirs."""


def entrant_names() -> tuple[str, ...]:
    """The policies, then every other system, by their names."""
    return (*POLICIES, *(name for name in SYSTEMS if name != POLICY_LEARN))


def entrant_title(name: str) -> str:
    """An entrant's name for people."""
    return POLICIES[name][0] if name in POLICIES else SYSTEMS[name].title


def entrant_config(name: str, dataset: str) -> RunConfig:
    """The settings that a dataset has for a policy or a system; a system's own where it has none."""
    return run_config(dataset, {"selection": POLICIES[name][1]} if name in POLICIES else {"model": name})


@dataclass(frozen=True)
class SystemSettings:
    """One run over the systems.

    Args:
        dataset: by name.
        names: of `entrant_names`; empty takes all.
        rounds: how often each is timed.
        threads: of torch and of our own kernels. With one, a busy machine disturbs least.
        batch_size: graphs of a batch, for all alike; None takes that of the dataset.
        memory: measure peak memory, and end what needs too much.
        seconds: how long the rounds of one entrant and phase may take together; slower ones get fewer rounds.
    """

    dataset: str = "zinc"
    names: tuple[str, ...] = ()
    rounds: int = 5
    threads: int = 1
    batch_size: int | None = None
    memory: bool = True
    seconds: float = 120.0

    def __post_init__(self) -> None:
        check_names(self.names, entrant_names())
        check_least(self, rounds=1, threads=1, batch_size=1)

    @property
    def chosen(self) -> tuple[str, ...]:
        return self.names or entrant_names()

    @property
    def graphs(self) -> int:
        """Graphs of a batch."""
        return BATCH_SIZES.get(self.dataset, BATCH_SIZE) if self.batch_size is None else self.batch_size


class Entrant:
    """A policy or system, built for a dataset, with a batch ready for every round and one of few graphs to begin with.

    Structures that it reads are computed beforehand, or read from the cache, and are no part of a step.

    Args:
        config: the run.
        source: the data.
        graphs: of a batch.
        rounds: how many batches.
    """

    def __init__(self, config: RunConfig, source: Source, graphs: int, rounds: int) -> None:
        prepared = prepare_data(config, source)
        torch.manual_seed(0)
        self.model = make_model(config, prepared.inputs)
        self.training = TrainingSteps(self.model, source.dataset.task, config)
        batches = Batches(replace(source, dataset=prepared.dataset), graphs, rounds)
        self.batches = [batches.get(turn) for turn in range(rounds)]
        self.trial = make_batch(prepared.dataset.graphs, batches.indices[0][:TRIAL_GRAPHS])

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(weight.numel() for weight in self.model.parameters())

    def run(self, phase: Phase, batch: Batch) -> None:
        """A training step or inference."""
        if phase == "train":
            self.training.step(batch, 0)
            return
        self.model.eval()
        with torch.inference_mode():
            scored(self.model, batch)

    def peak(self, phase: Phase) -> int:
        """The most bytes that a step holds beyond program, data and model."""
        calibrate(self.model, [self.trial])
        self.run(phase, self.trial)  # compiles what is compiled
        before = resident()
        forget_peak()
        self.run(phase, self.batches[0])
        return peak() - before

    def times(self, phase: Phase, seconds: float) -> list[float]:
        """Milliseconds of the processor, which others on the machine do not lengthen, of every round."""

        def once(batch: Batch) -> float:
            return time_once(lambda: self.run(phase, batch), time.process_time)

        calibrate(self.model, [self.trial])
        keep_freed_memory()
        self.run(phase, self.trial)
        took = once(self.batches[0])
        found = []
        for batch in self.batches[: rounds_within(seconds, took, len(self.batches))]:
            if took < SHORT:
                self.run(phase, batch)  # as in training, where a step follows its like
            found.append(1000 * once(batch))
        return found


def measure_system(name: str, settings: SystemSettings) -> list[Timing]:
    """Times and peaks of one policy or system, in a process of its own; where it does not fit, why.

    Args:
        name: of `entrant_names`.
        settings: of the run.
    """
    words: dict[str, Any] = {
        "system": name,
        "dataset": settings.dataset,
        "batch_size": settings.graphs,
        "rounds": settings.rounds,
        "threads": settings.threads,
        "seconds": settings.seconds,
        "memory": settings.memory,
    }
    most = int(MEMORY_SHARE * available()) if settings.memory else None
    found: dict[str, dict[str, Any]] = {}
    phases = list(PHASES)
    while phases:  # where training does not fit, inference may
        try:
            found |= run_alone("lab.bench.alone", words | {"phases": phases}, most_bytes=most)
            break
        except MemoryLimitError as error:
            found[phases.pop(0)] = {"note": f"not run: {error}"}
    return [Timing(settings.dataset, name, phase, SYSTEM, settings.graphs, **found[phase]) for phase in PHASES]


def system_costs(words: dict[str, Any], source: Source) -> dict[str, dict[str, Any]]:
    """What a phase costs in this process, or why it is not run; see `measure_system`."""
    config = entrant_config(words["system"], words["dataset"])
    entrant = Entrant(config, source, words["batch_size"], words["rounds"])
    phases: list[Phase] = list(reversed(words["phases"]))  # inference first: training keeps what it frees
    found: dict[str, dict[str, Any]] = {phase: {"parameters": entrant.parameters} for phase in phases}

    def attempt(phase: Phase, what: str, measure: Callable[[], Any]) -> None:
        try:
            if "note" not in found[phase]:
                found[phase][what] = measure()
        except RowLimitError as error:
            found[phase]["note"] = f"not run: {error}"

    for phase in phases if words["memory"] else ():
        attempt(phase, "peak_bytes", partial(entrant.peak, phase))
    for phase in phases:
        attempt(phase, "ms", partial(entrant.times, phase, words["seconds"]))
    return found
