"""All goals of a step on ZINC in one run: against the replicated model, PyG's layers, products alone and one thread.

Run with ``python -m lab.benchmarks.step_goals [--rounds 5] [--threads 1 2] [--clock wall | processor] [--page]``. All
contenders with every number of threads take turns; ratios are medians of each round's own. What a second thread is
worth can only be seen by the clock on the wall, which needs an idle machine; with one thread the processor's clock
serves on a busy one too. ``--page`` writes the table of the record into docs/performance.md and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.markdown import Markdown

from lab.bench.cases import CASES, PHASES, Phase, Settings
from lab.bench.contenders import Batches, make_ours, make_replicated, model_config
from lab.bench.interleave import TimedStep, interleave
from lab.bench.limit import GemmReplay, record_gemms
from lab.benchmarks.machine import RESULTS, keep
from lab.benchmarks.page import PAGE, with_table
from policylearn.models import EstimatorName, PolicyConfig
from policylearn.settings import DataConfig
from policylearn.training import Source, load_source

GRAPHS = 128
CONSOLE = Console(width=120)
Key = tuple[str, int]
"""A contender and its number of threads."""


@dataclass(frozen=True)
class Goal:
    """How one time is to compare with another.

    Args:
        phase: of both.
        top: whose time is divided.
        bottom: by whose.
        least: the ratio is at least this; None if there is no such bound.
        most: likewise at most.
        by_thread: whether ``top`` has one thread and ``bottom`` two.
    """

    phase: Phase
    top: str
    bottom: str
    least: float | None = None
    most: float | None = None
    by_thread: bool = False

    @property
    def title(self) -> str:
        """What is compared."""
        words = (
            "one thread over two" if self.by_thread else f"{self.top} over it" if self.least else f"over {self.bottom}"
        )
        return f"{self.bottom if self.least else self.top}: {words}"

    @property
    def bound(self) -> str:
        """The goal in words."""
        return f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"

    def reached_by(self, ratio: float) -> bool:
        """Whether it is."""
        return ratio >= self.least if self.least is not None else self.most is None or ratio <= self.most


LEARNED: tuple[EstimatorName, ...] = ("reinforce", "rloo", "straight_through")
SHARED, RANDOM, NONE = "learned T=2, shared", "random T=2", "none"


def learned(picks: int, estimator: EstimatorName | None = None) -> str:
    """The name of a contender."""
    return f"learned T={picks}" + (f", {estimator}" if estimator else "")


GOALS = (
    *(Goal("train", "replicated T=2", learned(2, one), least=3.0) for one in LEARNED),
    *(Goal("train", "replicated T=5", learned(5, one), least=4.5) for one in LEARNED),
    *(Goal("train", learned(2, one), f"products of {learned(2, one)}", most=2.5) for one in LEARNED),
    Goal("train", "PyG's layers", NONE, least=2.0),
    Goal("train", SHARED, RANDOM, most=1.15),
    Goal("infer", "replicated T=2", learned(2), least=4.5),
    Goal("infer", "replicated T=5", learned(5), least=8.0),
    Goal("train", learned(2, "reinforce"), learned(2, "reinforce"), least=1.6, by_thread=True),
    Goal("train", RANDOM, RANDOM, least=1.6, by_thread=True),
    *(
        Goal("train", name, name, least=1.0, by_thread=True)
        for name in (learned(2, "rloo"), SHARED, *(learned(5, one) for one in LEARNED), NONE)
    ),
    *(Goal("infer", name, name, least=1.0, by_thread=True) for name in (learned(2), learned(5), NONE)),
)


def contenders(source: Source, phase: Phase, rounds: int) -> dict[str, Callable[[int], None]]:
    """Everybody of a phase, each as a function of a round."""
    batches, network = Batches(source, GRAPHS, rounds), Settings().network

    def ours(policy: PolicyConfig, *, products: bool = False) -> Callable[[int], None]:
        torch.manual_seed(0)
        config = replace(model_config(source, CASES["learned-t2"], network, None), policy=policy)
        generator, estimator = torch.Generator().manual_seed(0), policy.estimator if policy.name == "learned" else None
        form = "plain" if products else "cones"
        step = make_ours(config, source, phase, batches.small(), generator, form=form)  # type: ignore[arg-type]
        if not products:
            return batches.on(step, estimator)
        gemms = {}
        for turn in range(rounds):
            batch = batches.get(turn, estimator)
            gemms[turn] = record_gemms(lambda batch=batch: step(batch))  # type: ignore[misc]
        return GemmReplay(gemms, generator)

    def theirs(case: str) -> Callable[[int], None]:
        torch.manual_seed(0)
        config = model_config(source, CASES[case], network, None)
        return batches.on(make_replicated(config, source, phase, batches.small(), torch.Generator().manual_seed(0)))

    found = {f"replicated T={picks}": theirs(f"learned-t{picks}") for picks in (2, 5)}
    found |= {"PyG's layers": theirs("none"), NONE: ours(PolicyConfig(name="none", picks=0))}
    if phase == "infer":
        return found | {learned(picks): ours(PolicyConfig(picks=picks)) for picks in (2, 5)}
    for picks in (2, 5):
        for one in LEARNED:
            found[learned(picks, one)] = ours(PolicyConfig(picks=picks, estimator=one))
    for one in LEARNED:
        found[f"products of {learned(2, one)}"] = ours(PolicyConfig(picks=2, estimator=one), products=True)
    return found | {
        SHARED: ours(PolicyConfig(picks=2, shared=True)),
        RANDOM: ours(PolicyConfig(name="random", picks=2)),
    }


def measure(source: Source, phase: Phase, rounds: int, threads: list[int], clock: str) -> dict[Key, np.ndarray]:
    """Milliseconds of everybody with each number of threads in every round."""
    torch.set_num_threads(max(threads))
    everybody = contenders(source, phase, rounds)
    entries = [TimedStep((name, count), run, rounds, warm=True) for name, run in everybody.items() for count in threads]
    told = time.process_time if clock == "processor" else time.perf_counter
    spent = interleave(entries, before=lambda key: torch.set_num_threads(key[1]), clock=told)
    return {key: 1000 * np.array(seconds) for key, seconds in spent.items()}


def judged(spent: dict[Phase, dict[Key, np.ndarray]], threads: list[int]) -> list[dict[str, Any]]:
    """Every goal with the ratio that was found, for each number of threads."""
    found = []
    for goal in GOALS:
        pairs = [(1, 2)] if goal.by_thread and {1, 2} <= set(threads) else []
        for first, second in pairs if goal.by_thread else [(count, count) for count in threads]:
            ratio = float(np.median(spent[goal.phase][goal.top, first] / spent[goal.phase][goal.bottom, second]))
            found.append(
                {
                    "phase": "training" if goal.phase == "train" else "inference",
                    "goal": goal.title,
                    "threads": "1 and 2" if goal.by_thread else str(first),
                    "bound": goal.bound,
                    "ratio": ratio,
                    "reached": goal.reached_by(ratio),
                }
            )
    return found


def table(record: dict[str, Any]) -> str:
    """The goals as markdown, under how they were measured."""
    machine, load = record["machine"], " and ".join(f"{value:.1f}" for value in record["load"])
    lines = [
        f"Commit {machine['commit']}, {machine['date']}, {machine.get('processor', 'unknown processor')}, "
        f"{record['rounds']} rounds by the {record['clock']} clock, load {load} before and after.",
        "",
        "| phase | what | threads | goal | found | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in record["goals"]:
        verdict = "reached" if one["reached"] else "**missed**"
        words = one["phase"], one["goal"], one["threads"], one["bound"], f"{one['ratio']:.2f}", verdict
        lines.append(f"| {' | '.join(words)} |")
    return "\n".join(lines)


def written(page: str) -> str:
    """The page with the table of the record, or without one as long as nothing was measured."""
    record = RESULTS / "step_goals.json"
    return with_table(page, "step_goals", table(json.loads(record.read_text())) if record.exists() else "")


def main() -> None:
    """Measure training and inference, say which goals are reached, keep all of it."""
    parser = argparse.ArgumentParser(description="All goals of a step on ZINC in one run.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument("--page", action="store_true", help="write the record's table into the page, measure nothing")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(written(PAGE.read_text()))
        return
    if options.clock == "processor" and options.threads != [1]:
        parser.error("the processor's clock counts the time of all threads; use --threads 1, or --clock wall")
    source, before = load_source(DataConfig(name="zinc")), os.getloadavg()[0]
    spent = {phase: measure(source, phase, options.rounds, options.threads, options.clock) for phase in PHASES}
    times = [
        {"phase": phase, "contender": name, "threads": threads, "ms": ms.tolist()}
        for phase, own in spent.items()
        for (name, threads), ms in own.items()
    ]
    kept = {
        "rounds": options.rounds,
        "clock": options.clock,
        "load": [before, os.getloadavg()[0]],
        "goals": judged(spent, options.threads),
        "times": times,
    }
    path = keep("step_goals", kept)
    CONSOLE.print(Markdown(table(json.loads(path.read_text()))))
    CONSOLE.print(str(path))


if __name__ == "__main__":
    main()
