"""The report: one HTML page with everything inside, on which the picks can be stepped through."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from policylearn.explain.drawings import Layout, place_nodes
from policylearn.explain.svg import graph_svg, shades
from policylearn.explain.traces import Trace


@dataclass(frozen=True)
class TracePanel:
    """A trace to be stepped through.

    Args:
        title: above the graph.
        trace: the picks.
        note: below the graph; without ``notes``, at every step.
        notes: below the graph, one for each step; empty for none.
    """

    title: str
    trace: Trace
    note: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Picture:
    """A PNG file that goes into the page.

    Args:
        path: the file.
        caption: below it.
    """

    path: Path
    caption: str


@dataclass(frozen=True)
class HtmlReport:
    """What the page says, from top to bottom.

    Args:
        title: of the page.
        introduction: paragraphs.
        headings: of the table.
        rows: of the table.
        panels: traces side by side, moved by one step control.
        panels_note: a paragraph above them.
        pictures: at the end.
        layout: how the graphs of the panels are laid out.
    """

    title: str
    introduction: Sequence[str]
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    panels: Sequence[TracePanel]
    panels_note: str
    pictures: Sequence[Picture]
    layout: Layout = "circle"

    def _repr_html_(self) -> str:
        """The page in a frame, as notebooks show it."""
        frame = 'style="width: 100%; height: 40rem; border: 0"'
        content = escape(report_html(self), quote=True)
        return f'<iframe title="{escape(self.title, quote=True)}" {frame} srcdoc="{content}"></iframe>'


def report_html(report: HtmlReport) -> str:
    """The page."""
    page = Template(files("policylearn.explain").joinpath("page.html").read_text(encoding="utf-8"))
    top = highest(report.panels)
    return page.substitute(
        title=escape(report.title),
        introduction="\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in report.introduction),
        table=table_html(report.headings, report.rows),
        panels_note=escape(report.panels_note),
        panels="\n".join(panel_html(panel, report.layout) for panel in report.panels),
        pictures="\n".join(picture_html(picture) for picture in report.pictures),
        gradient=", ".join(shades(np.linspace(0, 1, 9).tolist(), 1.0)),
        top=f"{top:.3f}",
        frames=script_json([frames(panel.trace, top, panel.notes) for panel in report.panels]),
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


def highest(panels: Sequence[TracePanel]) -> float:
    """The largest probability of all panels, the top of their common scale."""
    rows = [row for panel in panels for row in panel.trace.probabilities or ()]
    return max((max(row) for row in rows), default=0.0)


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


def script_json(value: object) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def panel_html(panel: TracePanel, layout: Layout) -> str:
    """One graph with its title and note."""
    edges = np.array(panel.trace.edges, dtype=np.int64).reshape(2, -1)
    drawing = graph_svg(edges, place_nodes(edges, panel.trace.num_nodes, layout), escape(panel.title, quote=True))
    return (
        f'<figure class="panel" data-note="{escape(panel.note, quote=True)}"><h3>{escape(panel.title)}</h3>{drawing}'
        f'<p class="state"></p><figcaption>{escape(panel.note)}</figcaption></figure>'
    )


def table_html(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first column names the row."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def picture_html(picture: Picture) -> str:
    """A picture, held by the page itself."""
    data = base64.b64encode(picture.path.read_bytes()).decode("ascii")
    caption = escape(picture.caption)
    return (
        f'<figure><img src="data:image/png;base64,{data}" alt="{escape(picture.caption, quote=True)}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )
