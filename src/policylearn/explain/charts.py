"""Charts as inline SVG that takes its colours from the page, so that they can be read on light and on dark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 420.0, 300.0, 52.0, 42.0, 12.0, 14.0
Points = Sequence[tuple[float, float]]


class Axes:
    """Maps numbers to places of a drawing, and draws the frame with its ticks.

    Args:
        x: least and greatest number across.
        y: least and greatest number upwards.
        labels: below and beside it.
    """

    def __init__(self, x: tuple[float, float], y: tuple[float, float], labels: tuple[str, str]) -> None:
        self.x, self.y, self.labels = widened(*x), widened(*y), labels

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies; SVG counts y downwards."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0]) * (WIDTH - LEFT - RIGHT)
        upwards = (y - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - TOP - BOTTOM)
        return LEFT + across, HEIGHT - BOTTOM - upwards

    def draw(self, inside: str, name: str) -> str:
        """The whole chart."""
        parts = []
        for tick in ticks(*self.x):
            place, base = self.place(tick, self.y[0])
            parts.append(f'<path class="grid" d="M{place:.1f} {TOP}V{base:.1f}"/>')
            parts.append(f'<text x="{place:.1f}" y="{base + 15:.1f}" text-anchor="middle">{tick:g}</text>')
        for tick in ticks(*self.y):
            _, place = self.place(self.x[0], tick)
            parts.append(f'<path class="grid" d="M{LEFT} {place:.1f}H{WIDTH - RIGHT}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{place + 4:.1f}" text-anchor="end">{tick:g}</text>')
        middle = (HEIGHT - BOTTOM + TOP) / 2
        below, beside = map(escape, self.labels)
        parts.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{below}</text>')
        parts.append(f'<text transform="translate(12 {middle}) rotate(-90)" text-anchor="middle">{beside}</text>')
        return (
            f'<svg class="chart" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(name)}">'
            f"{''.join(parts)}{inside}</svg>"
        )


def scatter(points: Points, labels: tuple[str, str], name: str, *, intervals: Points = ()) -> str:
    """Truth across, prediction upwards, the line of equality, and a thin upright for each interval.

    Args:
        points: truth and prediction.
        labels: of the axes.
        name: said to those who cannot see it.
        intervals: lower and upper end of each point's interval; empty for none.
    """
    ends_of_all = [value for ends in intervals for value in ends if math.isfinite(value)]
    everything = [value for point in points for value in point] + ends_of_all
    room = 0.03 * (max(everything) - min(everything))  # so that no dot lies on the frame
    span = (min(everything) - room, max(everything) + room)
    axes = Axes(span, span, labels)
    parts = []
    low, high = axes.x
    (a, b), (c, d) = axes.place(low, low), axes.place(high, high)
    parts.append(f'<path class="line other" d="M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}"/>')
    for (x, _), ends in zip(points, intervals, strict=False):
        if all(map(math.isfinite, ends)):
            begin, end = (axes.place(x, min(max(value, low), high)) for value in ends)
            parts.append(f'<path class="whisker" d="M{begin[0]:.1f} {begin[1]:.1f}V{end[1]:.1f}"/>')
    for x, y in points:
        across, down = axes.place(x, y)
        parts.append(f'<circle class="dot" cx="{across:.1f}" cy="{down:.1f}" r="3"/>')
    return axes.draw("".join(parts), name)


def lines(curves: Mapping[str, Points], labels: tuple[str, str], name: str, *, diagonal: bool = False) -> str:
    """A line per name, in the page's colours, with a legend below; ``diagonal`` adds that of chance.

    Args:
        curves: points of each line, from left to right.
        labels: of the axes.
        name: said to those who cannot see it.
        diagonal: from corner to corner.
    """
    xs = [x for points in curves.values() for x, _ in points]
    ys = [y for points in curves.values() for _, y in points if math.isfinite(y)]
    unit = (0.0, 1.0)
    axes = Axes(unit if diagonal else (min(xs), max(xs)), unit if diagonal else (min(ys), max(ys)), labels)
    parts = []
    if diagonal:
        (a, b), (c, d) = axes.place(0, 0), axes.place(1, 1)
        parts.append(f'<path class="grid" d="M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}"/>')
    for number, points in enumerate(curves.values()):
        places = [axes.place(x, y) for x, y in points if math.isfinite(y)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path class="line c{number % 6}" d="M{path}"/>')
    chart = axes.draw("".join(parts), name)
    if len(curves) < 2:
        return chart
    keys = "".join(f'<li><i class="c{number % 6}"></i>{escape(key)}</li>' for number, key in enumerate(curves))
    return f'{chart}<ul class="legend">{keys}</ul>'


def histogram(values: Sequence[float], labels: tuple[str, str], name: str, bins: int = 24) -> str:
    """How often values fall into equal steps."""
    counts, edges = np.histogram(values, bins=min(bins, max(4, len(values) // 3)))
    axes = Axes((float(edges[0]), float(edges[-1])), (0.0, float(counts.max())), labels)
    parts = []
    for count, begin, end in zip(counts, edges[:-1], edges[1:], strict=True):
        (a, b), (c, d) = axes.place(float(begin), float(count)), axes.place(float(end), 0.0)
        parts.append(f'<rect class="bar" x="{a + 0.5:.1f}" y="{b:.1f}" width="{c - a - 1:.1f}" height="{d - b:.1f}"/>')
    return axes.draw("".join(parts), name)


def widened(low: float, high: float) -> tuple[float, float]:
    """A range with some room; one number becomes a range around it."""
    if high <= low:
        return low - 0.5, low + 0.5
    return low, high


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers within a range."""
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.ceil(low / step - 1e-9)
    return [round(step * number, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]
