"""What each part of the acceleration is worth: plain PyTorch, compiled layers, and these with cones, turn by turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch

from lab.bench.cases import CASES, PHASES, Case, Form, Phase, Settings
from lab.bench.contenders import Batches, make_ours, model_config
from lab.bench.groups import WARM_SECONDS, Tell
from lab.bench.interleave import TimedStep, interleave, rounds_within, time_once
from lab.bench.record import BenchReport, Timing, paired_ratio
from policylearn.settings import EstimatorName
from policylearn.training import Source
from policylearn.wording import markdown_table

FORMS: dict[Phase, tuple[Form, ...]] = {"train": ("plain", "compiled"), "infer": ("plain", "compiled", "cones")}
"""Cones are used at inference alone."""
ABLATION_CASES = ("learned-t2", "learned-t5", "random-t2", "full", "none")
HEADINGS = ("phase", "method", "threads", "plain PyTorch", "compiled", "faster by", "with cones", "faster by")


@dataclass(frozen=True)
class AblationPart:
    """A form of a model in one case and phase, with so many threads."""

    case: Case
    phase: Phase
    form: Form
    threads: int

    @property
    def estimator(self) -> EstimatorName | None:
        """Of training a learned policy; elsewhere there is nothing to estimate."""
        return "rloo" if self.case.learns and self.phase == "train" else None

    @property
    def title(self) -> str:
        return f"{self.phase}, {self.case.title}, {self.form}, {self.threads} thread{'s' if self.threads > 1 else ''}"


def ablation_parts(settings: Settings) -> list[AblationPart]:
    """Everything that takes turns; a case of none has no marks and so no cones."""
    return [
        AblationPart(CASES[name], phase, form, threads)
        for phase, name in product(PHASES, settings.cases)
        for form, threads in product(FORMS[phase], sorted({1, settings.threads}))
        if form != "cones" or CASES[name].policy != "none"
    ]


def measure_ablation(source: Source, settings: Settings, tell: Tell) -> list[Timing]:
    """Time all parts in one run, everybody's first round, then everybody's second.

    Args:
        source: the data.
        settings: of the run.
        tell: told of every step.
    """
    batches = Batches(source, settings.graphs_of(source.dataset.name), settings.rounds)
    entries: list[TimedStep[AblationPart]] = []
    for part in ablation_parts(settings):
        tell(f"warming up: {part.title}", 1)
        torch.manual_seed(0)
        torch.set_num_threads(part.threads)
        generator = torch.Generator().manual_seed(0)
        config = model_config(source, part.case, settings.network, part.estimator)
        step = make_ours(config, source, part.phase, batches.small(), generator, part.form)
        run = batches.on(step, part.estimator)
        took = time_once(lambda run=run: run(0))  # type: ignore[misc]
        rounds = rounds_within(settings.seconds, took, settings.rounds)
        entries.append(TimedStep(part, run, rounds, warm=took < WARM_SECONDS))

    def before(part: AblationPart) -> None:
        torch.set_num_threads(part.threads)
        tell(part.title, 1)

    spent = interleave(entries, before=before)
    return [
        Timing(
            source.dataset.name, part.case.name, part.phase, False, part.form, part.estimator,
            batches.graphs(part.estimator), tuple(1000 * seconds for seconds in spent[part]), threads=part.threads,
        )
        for part in spent
    ]  # fmt: skip


def ablation_rows(report: BenchReport) -> Iterator[tuple[str, ...]]:
    """The table's rows, under `HEADINGS`: medians in ms, and how many times as fast as plain PyTorch."""
    for plain in report.timings:
        if plain.contender != "plain":
            continue
        cells = [_short(plain.median)]
        for form in ("compiled", "cones"):
            found = [
                t
                for t in report.timings
                if (t.contender, t.case, t.phase, t.threads) == (form, plain.case, plain.phase, plain.threads)
            ]
            cells += [_short(found[0].median), f"{paired_ratio(plain.ms, found[0].ms):.2f}"] if found else ["", ""]
        what = "training" if plain.phase == "train" else "inference"
        yield what, CASES[plain.case].title, str(plain.threads), *cells


def ablation_markdown(report: BenchReport) -> str:
    """The table as documents hold it."""
    return markdown_table(HEADINGS, ablation_rows(report))


def _short(ms: float) -> str:
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}"
