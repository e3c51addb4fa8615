"""Selections made visible."""

from policylearn.explain.curves import Chart, draw_charts
from policylearn.explain.drawings import Layout, Panel, draw_panels, place_nodes
from policylearn.explain.report import HtmlReport, Picture, TracePanel, write_report
from policylearn.explain.trace import Trace, trace, trace_selection

__all__ = [
    "Chart",
    "HtmlReport",
    "Layout",
    "Panel",
    "Picture",
    "Trace",
    "TracePanel",
    "draw_charts",
    "draw_panels",
    "place_nodes",
    "trace",
    "trace_selection",
    "write_report",
]
