"""The table of README on what picks are worth, from the records: none, random, learned and all, trained alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.reproduce.claims import budget, shown
from lab.reproduce.declaration import Cell, Table
from lab.reproduce.summary import Groups, RunGroup, alike

COLUMNS = (
    ("expressivity", "csl", 2),
    ("expressivity", "exp", 2),
    ("counting", "triangle", 5),
    ("ogb", "molesol", 2),
    ("zinc", "zinc", 2),
)
"""Table, column and T."""
PARTS = {False: "*the graph alone*", True: "*with walk encodings or descriptors*"}


def picks_table(tables: Mapping[str, Table], groups: Groups) -> str:
    """A line per dataset that has runs trained alike, in two parts."""
    lines = [
        "| data | none | random | learned | full | recovered by random, learned |",
        "|---|---|---|---|---|---|",
    ]
    for helped, title in PARTS.items():
        lines.append(f"| {title} | | | | | |")
        for name, column, picks in COLUMNS:
            slugs = ("gin", f"random-t{picks}", f"learned-t{picks}", "full")
            cells = [tables[name].cell(column, slug) for slug in slugs]
            own = [[one for one in groups.get(cell.experiment, []) if is_helped(one) == helped] for cell in cells]
            best = max(alike(own), alike(own[:3]), key=lambda found: [group.rank[:3] for group in found[:3]])
            if best:
                lines.append(picks_line(cells, best))
    return "\n".join(lines)


def is_helped(group: RunGroup) -> bool:
    """Whether nodes or graphs carry more than the data has."""
    return any(key.startswith("data.transforms") for key in group.changed)


def picks_line(cells: Sequence[Cell], best: Sequence[RunGroup]) -> str:
    """Figures of none, random, learned and, where it was run alike, the full bag."""
    figures = [shown(cell, group) for cell, group in zip(cells, best, strict=False)]
    recovered = ""
    if len(best) == len(cells):
        none, *some, whole = (group.mean for group in best)
        recovered = ", ".join(f"{(none - one) / (none - whole):.0%}" for one in some)
    data = f"{cells[0].column.title}; {budget(cells, best)}"
    return "| " + " | ".join([data, *figures, *([] if recovered else ["-"]), recovered]) + " |"
