"""Times and peaks of the cases of a dataset, all contenders of all cases turn by turn."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import torch

from lab.bench.cases import CONTENDERS, BenchSettings, Case, CaseGroup, Contender
from lab.bench.contenders import Batches, inputs_of, make_step
from lab.bench.interleave import TimedStep, interleave, milliseconds, rounds_within, time_once
from lab.bench.memory import replicated_bytes, run_alone, too_large
from lab.bench.record import Timing
from policylearn.training import Source

WARM_SECONDS = 5.0
"""What takes longer is not run a second time ahead of each time that is taken."""
Key = tuple[Case, Contender]
Tell = Callable[[str, int], None]
"""Told what is being timed, and how many steps were done since the last time."""


def count_steps(group: CaseGroup, settings: BenchSettings) -> int:
    """How many steps `measure_group` tells of: a warm-up and the rounds of each contender."""
    return len(group.cases) * len(CONTENDERS) * (1 + settings.rounds)


def measure_group(group: CaseGroup, source: Source, settings: BenchSettings, tell: Tell) -> list[Timing]:
    """Warm up, then time everybody turn by turn.

    Args:
        group: dataset, phase and cases.
        source: its data.
        settings: of the run.
        tell: told of every step.
    """
    told = 0

    def note(key: Key) -> None:
        nonlocal told
        told += 1
        tell(f"{group.dataset}, {group.phase}: {key[0].title} {key[1]}", 1)

    batches = Batches(source, settings.graphs_of(group.dataset), settings.rounds)
    torch.manual_seed(0)
    entries: list[TimedStep[Key]] = []
    notes: dict[Key, str] = {}
    for key in ((case, contender) for case in group.cases for contender in CONTENDERS):
        note(key)
        notes[key] = _refusal(group, key[0], batches, settings) if key[1] == "replicated" else ""
        if not notes[key]:
            entries.append(_entry(key, group, batches, settings))
    ms = {key: milliseconds(seconds) for key, seconds in interleave(entries, before=note).items()}
    tell(f"{group.dataset}, {group.phase}", count_steps(group, settings) - told)
    return [
        Timing(group.dataset, key[0].name, group.phase, key[1], batches.size, ms.get(key, ()), note=why)
        for key, why in notes.items()
    ]


def _entry(key: Key, group: CaseGroup, batches: Batches, settings: BenchSettings) -> TimedStep[Key]:
    case, contender = key
    step = batches.on(make_step(contender, case, settings.network, batches.source, group.phase, batches.small()))
    took = time_once(lambda: step(0))
    rounds = rounds_within(settings.seconds, took, settings.rounds)
    return TimedStep(key, step, rounds, warm=took < WARM_SECONDS)


def _refusal(group: CaseGroup, case: Case, batches: Batches, settings: BenchSettings) -> str:
    """Why the replicated model cannot run; empty if it can."""
    inputs = inputs_of(batches.source)
    every = (batches.get(turn) for turn in range(len(batches.indices)))
    return too_large(max(replicated_bytes(inputs, settings.network, case, group.phase, batch) for batch in every))


def with_peak(timing: Timing, settings: BenchSettings) -> Timing:
    """The timing with its peak memory, measured in a process of its own."""
    words = {
        "dataset": timing.dataset,
        "case": timing.case,
        "phase": timing.phase,
        "contender": timing.contender,
        "batch_size": settings.graphs_of(timing.dataset),
        "layers": settings.layers,
        "channels": settings.channels,
        "threads": settings.threads,
    }
    return msgspec.structs.replace(timing, peak_bytes=run_alone("lab.bench.alone", words)["peak_bytes"])
