"""Times and peaks of the cases of a dataset, all contenders of all cases turn by turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from lab.bench.cases import Case, CaseGroup, Contender, Settings
from lab.bench.contenders import Batches, make_ours, make_replicated, model_config
from lab.bench.interleave import Clock, TimedStep, interleave, rounds_within, time_once
from lab.bench.limit import Gemm, GemmReplay, record_gemms
from lab.bench.memory import replicated_bytes, run_alone, too_large
from lab.bench.record import Timing
from lab.reproduce.timing import deterministic
from policylearn.models import EstimatorName
from policylearn.training import Source

WARM_SECONDS = 5.0
"""What takes longer is not run a second time ahead of each time that is taken."""

Tell = Callable[[str, int], None]
"""Told what is being timed, and how many steps were done since the last time."""


@dataclass(frozen=True)
class ContenderKey:
    """A contender of a case."""

    case: Case
    contender: Contender
    estimator: EstimatorName | None

    @property
    def title(self) -> str:
        return " ".join([self.case.title, self.contender, *([self.estimator] if self.estimator else [])])


def count_steps(group: CaseGroup, settings: Settings) -> int:
    """How many steps `measure_group` tells of: our recorded rounds, the warm-up of the replicated model, the turns."""
    ours = sum(len(group.estimators(case)) for case in group.cases)
    return 3 * ours * settings.rounds + len(group.cases) * (1 + settings.rounds)


def measure_group(
    group: CaseGroup, source: Source, settings: Settings, tell: Tell, clock: Clock = time.perf_counter
) -> list[Timing]:
    """Warm up, write down our matrix multiplications, then time everybody turn by turn.

    Args:
        group: dataset, phase and cases.
        source: its data.
        settings: of the run.
        tell: told of every step.
        clock: gives seconds.
    """
    told = 0

    def note(key: ContenderKey) -> None:
        nonlocal told
        told += 1
        tell(f"{group.title}: {key.title}", 1)

    batches = Batches(source, settings.graphs_of(group.dataset), settings.rounds)
    torch.manual_seed(0)
    entries: list[TimedStep[ContenderKey]] = []
    notes: dict[ContenderKey, str] = {}
    with deterministic(group.deterministic):
        for case in group.cases:
            for estimator in group.estimators(case):
                entries += _ours(group, case, estimator, batches, settings, note)
            key = ContenderKey(case, "replicated", None)
            notes[key] = _refusal(group, case, batches, settings)
            note(key)
            if not notes[key]:
                entries.append(_replicated(group, case, batches, settings))
        spent = interleave(entries, before=note, clock=clock)
    tell(group.title, count_steps(group, settings) - told)
    return [
        Timing(
            group.dataset, key.case.name, group.phase, group.deterministic, key.contender, key.estimator,
            batches.graphs(key.estimator), tuple(1000 * seconds for seconds in spent.get(key, [])),
            note=notes.get(key, ""),
        )
        for key in [*spent, *(key for key, why in notes.items() if why)]
    ]  # fmt: skip


def _ours(
    group: CaseGroup,
    case: Case,
    estimator: EstimatorName | None,
    batches: Batches,
    settings: Settings,
    note: Callable[[ContenderKey], None],
) -> list[TimedStep[ContenderKey]]:
    """Our model, and the matrix multiplications of its passes alone, for each of the batches.

    Where one step takes longer than all rounds may, its products are not run alone: it would take as long again.
    """
    generator = torch.Generator().manual_seed(0)
    config = model_config(batches.source, case, settings.network, estimator)
    step = make_ours(config, batches.source, group.phase, batches.small(), generator)
    key = ContenderKey(case, "ours", estimator)
    took = time_once(lambda: step(batches.get(0, estimator)))
    rounds = rounds_within(settings.seconds, took, settings.rounds)
    ours = TimedStep(key, batches.on(step, estimator), rounds, warm=took < WARM_SECONDS)
    if took > settings.seconds:
        return [ours]
    plain = make_ours(config, batches.source, group.phase, batches.small(), generator, form="plain")
    gemms: dict[int, list[Gemm]] = {}
    for turn in range(rounds):
        note(key)
        batch = batches.get(turn, estimator)
        gemms[turn] = record_gemms(lambda batch=batch: plain(batch))  # type: ignore[misc]
    return [ours, TimedStep(ContenderKey(case, "limit", estimator), GemmReplay(gemms, generator), rounds, warm=True)]


def _replicated(group: CaseGroup, case: Case, batches: Batches, settings: Settings) -> TimedStep[ContenderKey]:
    config = model_config(batches.source, case, settings.network, None)
    generator = torch.Generator().manual_seed(0)
    step = batches.on(make_replicated(config, batches.source, group.phase, batches.small(), generator), None)
    took = time_once(lambda: step(0))
    rounds = rounds_within(settings.seconds, took, settings.rounds)
    return TimedStep(ContenderKey(case, "replicated", None), step, rounds, warm=took < WARM_SECONDS)


def _refusal(group: CaseGroup, case: Case, batches: Batches, settings: Settings) -> str:
    """Why the replicated model cannot run; empty if it can."""
    config = model_config(batches.source, case, settings.network, None)
    every = (batches.get(turn) for turn in range(len(batches.indices)))
    return too_large(max(replicated_bytes(config, case, group.phase, batch) for batch in every))


def wants_peak(timing: Timing) -> bool:
    """Whether a timing's peak memory is measured: what ran, and not a second time under deterministic algorithms."""
    return timing.contender != "limit" and bool(timing.ms) and not timing.deterministic


def with_peak(timing: Timing, settings: Settings) -> Timing:
    """The timing with its peak memory, measured in a process of its own."""
    words = {
        "dataset": timing.dataset,
        "case": timing.case,
        "phase": timing.phase,
        "contender": timing.contender,
        "estimator": timing.estimator,
        "batch_size": settings.graphs_of(timing.dataset),
        "layers": settings.layers,
        "channels": settings.channels,
        "threads": settings.threads,
    }
    return replace(timing, peak_bytes=run_alone("lab.bench.alone", words)["peak_bytes"])
