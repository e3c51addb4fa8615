"""The demo's page: joins what was trained with how it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Batch

from policylearn.demo.learning import Learned, LearningConfig, LearningMethod, covered, fresh_graphs
from policylearn.explain import HtmlReport, TracePanel, trace_selection, write_report
from policylearn.explain.charts import lines

SHOWN = 50
"""Graphs among which the one to show is looked for."""


def write_demo(
    runs: Sequence[Learned],
    names: Mapping[LearningMethod, str],
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    folder: Path,
) -> Path:
    """Write the page into a folder, and say where it is; the learned policy is the last of the runs."""
    config = runs[-1].config
    batch, graph = graph_to_show(runs)
    ring_of = batch.component[int(batch.ptr[graph]) : int(batch.ptr[graph + 1])].tolist()
    truth = int(batch.y[graph])
    panels = []
    for run in runs:
        with torch.no_grad():
            selection = run.model.select(batch)
            named = int(run.model.predict(batch, selection)[graph].argmax())
        found = trace_selection(selection, batch, graph)
        seen = [len({ring_of[node] for node in found.picks[:step]}) for step in range(len(found.picks) + 1)]
        verdict = "right" if named == truth else f"wrong, it is {truth}"
        notes = [f"marks in {rings} of {config.components} rings" for rings in seen]
        notes[-1] += f"; names class {named}: {verdict}"
        panels.append(TracePanel(names[run.config.method], found, notes[-1], notes[1:]))
    missed = 1 - config.n**config.components / comb(config.n * config.components, config.components)
    report = HtmlReport(
        title="Learning where to look",
        introduction=introduction(config),
        headings=headings,
        rows=rows,
        panels=panels,
        panels_note=f"One of the first graphs on which random picks miss a ring, as they do on {missed:.0%} of all."
        " Colours are the learned policy's probabilities before each pick; where a ring is dark, it no longer looks."
        " The newest pick is ringed in red.",
        charts=[progress_chart(runs, names, name) for name in ("accuracy", "coverage")],
    )
    return write_report(report, folder / "report.html")


def introduction(config: LearningConfig) -> list[str]:
    """What the page is about."""
    return [
        f"Each graph has {config.components} rings of {config.n} nodes with skip links of different lengths. To"
        f" ordinary message passing all nodes of all {config.classes} classes look the same, so it can only guess"
        f" ({1 / config.classes:.0%}). A marked node gives its own ring away, and only its own.",
        f"The model marks {config.components} nodes, one after the other, each in a copy of its own, and looks at the"
        " copies so far before it picks the next. Nobody tells it what a ring is: it is trained by the class alone,"
        " with a score-function gradient (reinforce) for the picks.",
        "Accuracy: share of unseen graphs that are told right. Coverage: share of them with a mark in every ring. T:"
        " the number of marks. Seconds: of training, evaluations left out.",
    ]


def graph_to_show(runs: Sequence[Learned]) -> tuple[Batch, int]:
    """New graphs with rings in drawing order, and the first of them on which random picks miss a ring."""
    config = runs[-1].config
    batch = next(fresh_graphs(config, 3, SHOWN, shuffle=False))
    missed = torch.ones(SHOWN, dtype=torch.bool)
    for run in runs:
        if run.config.method == "random":
            missed = ~covered(run.model.select(batch), batch.component, config.components)
    return batch, int(missed.int().argmax())


def progress_chart(runs: Sequence[Learned], names: Mapping[LearningMethod, str], name: str) -> tuple[str, str]:
    """Accuracy or coverage over the steps, a line per method."""
    curves = {
        names[run.config.method]: np.array([(point.step, getattr(point, name)) for point in run.curve]) for run in runs
    }
    title = f"{name} on unseen graphs"
    return title, lines(curves, ("training steps", name), title)
