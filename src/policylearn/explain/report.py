"""A page on which picks can be stepped through, whole in one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from policylearn.explain.drawings import shades
from policylearn.explain.traces import Trace
from policylearn.prediction.templates import render


@dataclass(frozen=True)
class TracePanel:
    """A trace to be stepped through, with a note below the graph: one for each step, or ``note`` at all of them."""

    title: str
    trace: Trace
    note: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class HtmlReport:
    """What the page says, from top to bottom; a notebook shows it in a frame."""

    title: str
    introduction: Sequence[str]  # paragraphs
    headings: Sequence[str]  # of a table
    rows: Sequence[Sequence[str]]  # of the table; empty for none
    panels: Sequence[TracePanel]  # side by side, moved by one step control
    panels_note: str  # a paragraph above them
    charts: Sequence[tuple[str, str]] = ()  # titles and drawings of `policylearn.explain.charts`, at the end

    def _repr_html_(self) -> str:
        frame = 'style="width: 100%; height: 40rem; border: 0"'
        content = escape(report_html(self), quote=True)
        return f'<iframe title="{escape(self.title, quote=True)}" {frame} srcdoc="{content}"></iframe>'


def report_html(report: HtmlReport) -> str:
    """The page."""
    chances = [chance for panel in report.panels for row in panel.trace.probabilities or () for chance in row]
    top = max(chances, default=0.0)
    return render(
        "steps.html",
        "explain",
        title=report.title,
        report=report,
        panels=[(panel, panel.trace.svg("circle", panel.title)) for panel in report.panels],
        gradient=", ".join(shades(np.linspace(0, 1, 9).tolist(), 1.0)),
        top=f"{top:.3f}",
        frames=[frames(panel.trace, top, panel.notes) for panel in report.panels],
    )


def write_report(report: HtmlReport, path: str | Path) -> Path:
    """Write the page."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report_html(report), encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path}: cannot be written ({error}); choose another file") from error
    return path


def frames(trace: Trace, top: float, notes: Sequence[str] = ()) -> list[dict[str, object]]:
    """What a panel shows at each step: a colour per node (none without probabilities) and the picks so far."""
    return [
        {
            "picks": list(trace.picks[: step + 1]),
            "colours": None if trace.probabilities is None else shades(trace.probabilities[step], top),
            "note": notes[step] if notes else "",
            "chance": None if trace.probabilities is None else trace.probabilities[step][pick],
        }
        for step, pick in enumerate(trace.picks)
    ]
