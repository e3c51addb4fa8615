"""The demo's pictures and page: joins what was trained with how it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Batch

from policylearn.data import make_batch
from policylearn.data.synthetic import csl_unions
from policylearn.demo.learning import Learned, LearningConfig, LearningMethod, covered
from policylearn.explain import (
    Chart,
    HtmlReport,
    Panel,
    Picture,
    Trace,
    TracePanel,
    draw_charts,
    draw_panels,
    trace,
    write_report,
)

SHOWN = 50
"""Graphs among which the one to show is looked for."""


def write_demo(
    runs: Sequence[Learned],
    names: Mapping[LearningMethod, str],
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    folder: Path,
) -> list[Path]:
    """Write the pictures and the page into a folder, and say where they are.

    Args:
        runs: what was trained, the learned policy last.
        names: what the methods are called.
        headings: of the table.
        rows: of the table.
        folder: where to.
    """
    config = runs[-1].config
    batch, graph = graph_to_show(runs)
    traces = [trace(run.model, batch, graph) for run in runs]
    truth = int(batch.y[graph])
    panels = []
    for run, (found, named) in zip(runs, traces, strict=True):
        of_node = batch.component[int(batch.ptr[graph]) : int(batch.ptr[graph + 1])].tolist()
        seen = [len({of_node[node] for node in found.picks[:step]}) for step in range(len(found.picks) + 1)]
        verdict = "right" if named == truth else f"wrong, it is {truth}"
        notes = [f"marks in {rings} of {config.components} rings" for rings in seen]
        notes[-1] += f"; names class {named}: {verdict}"
        panels.append(TracePanel(names[run.config.method], found, notes[-1], notes[1:]))

    learned = panels[-1]
    pictures = [
        Picture(
            draw_steps(learned.trace, folder / "picks.png"),
            "The learned policy, pick by pick: colours are its probabilities before the pick, numbers the picks so far."
            " Where a ring is dark, it no longer looks.",
        ),
        Picture(
            draw_panels([last_state(panel) for panel in panels], folder / "side_by_side.png", columns=len(panels)),
            "All picks, side by side; the learned policy's colours are its probabilities before the last pick.",
        ),
        Picture(draw_progress(runs, names, folder / "accuracy.png"), "Accuracy and coverage on unseen graphs."),
    ]
    page = write_report(
        HtmlReport(
            title="Learning where to look",
            introduction=introduction(config),
            headings=headings,
            rows=rows,
            panels=panels,
            panels_note="One of the first graphs on which random picks miss a ring, as they do on"
            f" {1 - config.n**config.components / comb(config.n * config.components, config.components):.0%} of all."
            " Colours are the learned policy's probabilities before each pick; the newest pick is ringed in red.",
            pictures=pictures,
        ),
        folder / "report.html",
    )
    return [page, *(picture.path for picture in pictures)]


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
    generator = np.random.default_rng([config.seed, 3])
    graphs = csl_unions(config.n, config.components, SHOWN, generator, shuffle=False)
    batch = make_batch(graphs, range(SHOWN))
    batch.component = torch.from_numpy(graphs.extras["component"])
    missed = torch.ones(SHOWN, dtype=torch.bool)
    for run in runs:
        if run.config.method == "random":
            missed = ~covered(run.model.select(batch), batch.component, config.components)
    return batch, int(missed.int().argmax())


def draw_steps(found: Trace, path: Path) -> Path:
    """A panel per pick, with the probabilities it was made from."""
    assert found.probabilities is not None, "a learned policy has probabilities"
    edges = np.array(found.edges)
    panels = [
        Panel(
            edges,
            found.num_nodes,
            title=f"pick {step + 1}: node {found.picks[step]}, probability {row[found.picks[step]]:.3f}",
            values=row,
            marks={node: str(order + 1) for order, node in enumerate(found.picks[: step + 1])},
            layout="circle",
        )
        for step, row in enumerate(found.probabilities)
    ]
    return draw_panels(panels, path, columns=len(panels))


def last_state(panel: TracePanel) -> Panel:
    """A method's panel of the picture side by side."""
    found = panel.trace
    return Panel(
        np.array(found.edges),
        found.num_nodes,
        title=f"{panel.title}\n{panel.note.split(';')[0]}",
        values=None if found.probabilities is None else found.probabilities[-1],
        marks={node: str(order + 1) for order, node in enumerate(found.picks)},
        layout="circle",
    )


def draw_progress(runs: Sequence[Learned], names: Mapping[LearningMethod, str], path: Path) -> Path:
    """Accuracy and coverage over the steps."""
    charts = [
        Chart(
            title,
            {names[run.config.method]: [[(point.step, getattr(point, name)) for point in run.curve]] for run in runs},
        )
        for title, name in (("test accuracy", "accuracy"), ("coverage", "coverage"))
    ]
    return draw_charts(charts, path)
