"""What every system of the field costs beside the policies: a training step, inference, weights and peak memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch_geometric.data import Batch

from lab.bench.cases import BATCH_SIZE, BATCH_SIZES, PHASES, Phase
from lab.bench.contenders import Batches
from lab.bench.groups import Tell
from lab.bench.interleave import QUIET, TimedStep, interleave, rounds_within, time_once
from lab.bench.memory import MemoryLimitError, available, forget_peak, peak, resident, run_alone
from lab.bench.record import Timing
from lab.reproduce.timing import TrainingSteps
from policylearn.bags import RowLimitError
from policylearn.data import make_batch
from policylearn.fast import model_threads, while_training
from policylearn.fast.memory import give_memory_back
from policylearn.models import SYSTEMS, calibrate, find_system
from policylearn.settings import PolicyName, RunConfig
from policylearn.training import Source, make_model
from policylearn.training.evaluation import scored
from policylearn.training.prepared_data import prepare_data
from policylearn.training.presets import preset
from policylearn.wording import hint

SYSTEM = "system"
"""The contender of these timings."""
POLICIES: dict[str, tuple[PolicyName, int, str]] = {
    "none": ("none", 0, "GIN (no marks)"),
    "random-t2": ("random", 2, "Random T=2"),
    "random-t5": ("random", 5, "Random T=5"),
    "learned-t2": ("learned", 2, "Policy-learn T=2"),
    "learned-t5": ("learned", 5, "Policy-learn T=5"),
    "full": ("full", 0, "Full"),
}
"""Policy, T and title of the policies that stand beside the systems."""
UNIT = "random-t2"
"""In units of whose time the others are given."""
TRIAL_GRAPHS = 8
"""Graphs of the batch on which everything is compiled and the norms' statistics are taken."""
SHORT = 4.0
"""Seconds; what takes longer is not run a second time ahead of each time that is taken."""
MEMORY_SHARE = 0.5
"""Of the memory that is free, as much as one of them may hold: on a shared machine others need theirs."""


def entrant_names() -> tuple[str, ...]:
    """The policies, then every system that is registered, by their names."""
    find_system("sun")  # makes all of them known
    return (*POLICIES, *sorted(SYSTEMS))


def entrant_title(name: str) -> str:
    """An entrant's name for people."""
    return POLICIES[name][2] if name in POLICIES else find_system(name).title


def entrant_config(name: str, dataset: str) -> RunConfig:
    """The settings that a dataset has for a policy or a system; a system's own where it has none."""
    if name not in POLICIES:
        return preset(dataset, "", 0, model=name)
    policy, picks, _ = POLICIES[name]
    return preset(dataset, policy, picks)


@dataclass(frozen=True)
class SystemSettings:
    """One run over the systems.

    Args:
        dataset: by name.
        names: of `entrant_names`; empty takes all.
        rounds: how often each is timed.
        threads: of torch and of our own kernels. With one, a busy machine disturbs least.
        batch_size: graphs of a batch, for all alike; None takes that of the dataset.
        memory: measure peak memory, in a process of its own each.
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
        known = entrant_names()
        for name in self.names:
            if name not in known:
                way_out = hint(name, known, f"there are {', '.join(known)}")
                raise ValueError(f"there is no case '{name}'; {way_out}")
        for name in ("rounds", "threads", "batch_size"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"'{name.replace('_', '-')}' must be >= 1 (got {value})")

    @property
    def chosen(self) -> tuple[str, ...]:
        return self.names or entrant_names()

    @property
    def graphs(self) -> int:
        """Graphs of a batch."""
        return BATCH_SIZES.get(self.dataset, BATCH_SIZE) if self.batch_size is None else self.batch_size


@dataclass(frozen=True)
class EntrantPhase:
    """A policy or system in one phase."""

    name: str
    phase: Phase


@dataclass(frozen=True)
class MemoryFindings:
    """Peak memory in bytes, and why what does not fit is not run."""

    peaks: Mapping[EntrantPhase, int] = field(default_factory=dict)
    refused: Mapping[EntrantPhase, str] = field(default_factory=dict)


class Entrant:
    """A policy or system, built for a dataset, with a batch ready for every round and one of few graphs to begin with.

    Structures that it reads are computed beforehand, or read from the cache, and are no part of a step.

    Args:
        name: of `entrant_names`.
        source: the data.
        settings: of the run.
        rounds: how many batches.
    """

    def __init__(self, name: str, source: Source, settings: SystemSettings, rounds: int) -> None:
        config = entrant_config(name, settings.dataset)
        prepared = prepare_data(config, source)
        torch.manual_seed(0)
        self.name = name
        self.model = make_model(config, prepared.inputs)
        self.training = TrainingSteps(self.model, source.dataset.task, config)
        self.graphs = settings.graphs // int(getattr(self.model, "bags_per_graph", 1))
        batches = Batches(replace(source, dataset=prepared.dataset), settings.graphs, rounds)
        self.batches = [batches.get(turn) for turn in range(rounds)]
        self.trained_batches = self.batches
        if self.graphs < settings.graphs:  # as many bags, which is how `train` counts a batch
            self.trained_batches = [make_batch(prepared.dataset.graphs, i[: self.graphs]) for i in batches.indices]
        self.trial = make_batch(prepared.dataset.graphs, batches.indices[0][:TRIAL_GRAPHS])

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(weight.numel() for weight in self.model.parameters())

    def begin(self) -> None:
        """Compile what is compiled and give the norms statistics, on the few graphs."""
        calibrate(self.model, [self.trial])
        with model_threads(self.model):  # without keeping freed memory, in which a measured step would hide
            self.training.step(self.trial, 0)
        self._infer(self.trial)

    def run(self, phase: Phase, turn: int) -> None:
        """A training step or inference on the batch of a round."""
        if phase == "infer":
            self._infer(self.batches[turn])
            return
        with while_training(self.model):
            self.training.step(self.trained_batches[turn], 0)

    def _infer(self, batch: Batch) -> None:
        self.model.eval()
        with torch.inference_mode(), model_threads(self.model):
            scored(self.model, batch)


def measure_systems(
    source: Source, settings: SystemSettings, tell: Tell, memory: MemoryFindings | None = None
) -> tuple[list[Timing], float]:
    """Time a training step and inference of all of them, everybody's first round, then everybody's second.

    Times are those of the processor, which others on the machine do not lengthen. Gives also the share of a processor
    that this process had meanwhile: with one thread, 1 on a machine of its own.

    Args:
        source: the data.
        settings: of the run.
        tell: told of every step.
        memory: what each holds, and what does not fit and so is not run; None where that was not measured.
    """
    memory = memory or MemoryFindings()
    entrants: dict[str, Entrant] = {}
    notes = dict(memory.refused)
    entries: list[TimedStep[EntrantPhase]] = []
    for name in settings.chosen:
        tell(f"warming up: {entrant_title(name)}", 1)
        entrant = entrants[name] = Entrant(name, source, settings, settings.rounds)
        for phase in PHASES:
            key = EntrantPhase(name, phase)
            found = memory.refused.get(key) or _timed_step(entrant, key, settings)
            if isinstance(found, str):
                notes[key] = found
            else:
                entries.append(found)

    def before(key: EntrantPhase) -> None:
        give_memory_back()  # of the one before: together they would hold many times what each needs
        tell(f"{entrant_title(key.name)}, {key.phase}", 1)

    spent, share = _shared(entries, before)
    keys = [EntrantPhase(name, phase) for name in entrants for phase in PHASES]
    return [
        Timing(
            settings.dataset, key.name, key.phase, False, SYSTEM, None,
            entrants[key.name].graphs if key.phase == "train" else settings.graphs,
            tuple(1000 * seconds for seconds in spent.get(key, [])),
            memory.peaks.get(key), notes.get(key, ""), parameters=entrants[key.name].parameters,
        )
        for key in keys
    ], share  # fmt: skip


def _timed_step(entrant: Entrant, key: EntrantPhase, settings: SystemSettings) -> TimedStep[EntrantPhase] | str:
    """What takes turns; or, where the batch has more rows than the system takes, why not."""
    try:
        entrant.begin()
        took = time_once(lambda: entrant.run(key.phase, 0), time.process_time)
    except RowLimitError as error:
        return f"not run: {error}"
    finally:
        give_memory_back()
    rounds = rounds_within(settings.seconds, took, settings.rounds)
    return TimedStep(key, lambda turn: entrant.run(key.phase, turn), rounds, warm=took < SHORT)


def _shared(
    entries: list[TimedStep[EntrantPhase]], before: Callable[[EntrantPhase], None]
) -> tuple[dict[EntrantPhase, list[float]], float]:
    """The times, and the share of a processor that this process had, its rests left out."""
    wall, processor = time.perf_counter(), time.process_time()
    spent = interleave(entries, before=before, clock=time.process_time)
    rests = QUIET * sum(map(len, spent.values()))
    busy = time.perf_counter() - wall - rests
    return spent, (time.process_time() - processor) / busy if busy > 0 else 0.0


def system_steps(settings: SystemSettings) -> int:
    """How many steps `measure_systems` tells of at most: the warm-up of each, and its rounds."""
    return len(settings.chosen) * (1 + len(PHASES) * settings.rounds)


def measure_system_peaks(settings: SystemSettings, tell: Tell) -> MemoryFindings:
    """Peak memory of each policy and system, in a process of its own; and what does not fit, with the reason.

    So it comes before anything is timed: what needs too much is ended there.

    Args:
        settings: of the run.
        tell: told of every step.
    """
    peaks: dict[EntrantPhase, int] = {}
    notes: dict[EntrantPhase, str] = {}
    for name in settings.chosen:
        tell(f"memory: {entrant_title(name)}", 1)
        phases = list(reversed(PHASES))  # inference first: training makes the C library keep what it frees
        while phases:
            try:
                found = _peaks_alone(name, phases, settings)
            except MemoryLimitError as error:
                notes[EntrantPhase(name, phases.pop())] = f"not run: {error}"
                continue
            for phase in phases:
                key, value = EntrantPhase(name, phase), found[phase]
                if isinstance(value, str):
                    notes[key] = value
                else:
                    peaks[key] = value
            break
    return MemoryFindings(peaks, notes)


def _peaks_alone(name: str, phases: list[Phase], settings: SystemSettings) -> dict[str, int | str]:
    words = {
        "system": name,
        "dataset": settings.dataset,
        "batch_size": settings.graphs,
        "threads": settings.threads,
        "phases": phases,
    }
    most = int(MEMORY_SHARE * available())
    return run_alone("lab.bench.alone", words, most_bytes=most)


def system_peaks(words: dict[str, Any], source: Source) -> dict[str, int | str]:
    """The most bytes that each phase holds beyond program, data and model, in this process; or why it is not run.

    Args:
        words: system, dataset, batch_size, threads and phases.
        source: the data.
    """
    settings = SystemSettings(words["dataset"], batch_size=words["batch_size"], threads=words["threads"])
    entrant = Entrant(words["system"], source, settings, 1)
    found: dict[str, int | str] = {}
    for phase in words["phases"]:
        try:
            entrant.begin()
            before = resident()
            forget_peak()
            entrant.run(phase, 0)
        except RowLimitError as error:
            found[phase] = f"not run: {error}"
            continue
        found[phase] = peak() - before
    return found
