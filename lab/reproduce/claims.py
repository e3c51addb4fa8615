"""What the paper claims, each as a few cells of its tables in the order that it claims, the best last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lab.reproduce.declaration import Cell, Table
from lab.reproduce.summary import Groups, RunGroup, alike, difference
from lab.reproduce.tables import PAPER


@dataclass(frozen=True)
class Claim:
    """Cells of one column of a table, worst first."""

    text: str
    table: str
    column: str
    rows: tuple[str, ...]


CLAIMS = tuple(
    Claim(one["text"], table, column, tuple(one["rows"]))
    for one in PAPER["claims"]
    for table, column in map(str.split, one["cells"])
)


def claim_line(claim: Claim, table: Table, groups: Groups) -> list[str]:
    """What the paper has, what we have, and the command, as cells of a table."""
    cells = [table.cell(claim.column, slug) for slug in claim.rows]
    data = f"[{claim.column}](#{table.name})"
    printed = " / ".join(cell.printed.text.split("±")[0] for cell in cells)
    command = f"`{table.name} --columns {claim.column} --rows {' '.join(claim.rows)}`"
    candidates = [groups.get(cell.experiment, []) for cell in cells]
    best = alike(candidates) or [own[0] for own in candidates if own]
    told = dict(zip([cell.row for cell, own in zip(cells, candidates, strict=True) if own], best, strict=True))
    ours = [shown(cell, told[cell.row], deviation=False) if cell.row in told else "not run" for cell in cells]
    line = [claim.text, data, printed, " / ".join(ours)]
    if len(best) < len(cells):
        return [*line, "", "", command]
    trained = "" if len({group.training for group in best}) == 1 else ", not trained alike"
    return [*line, ahead(cells, best), budget(cells, best) + trained, command]


def ahead(cells: Sequence[Cell], chosen: Sequence[RunGroup]) -> str:
    """By how much the last is better than the one before it."""
    found, column = difference(chosen[-1], chosen[-2]), cells[-1].column
    if column.measure != "metric":
        return f"{chosen[-1].mean / chosen[-2].mean:.0%} of the time"
    digits = cells[-1].printed.digits
    errors = [("over runs", found.error), ("over graphs", found.graph_error)]
    told = [f"± {e * column.factor:.{digits}f} {over}" for over, e in errors if e is not None and not math.isnan(e)]
    return " ".join([f"{found.better_by * column.factor:+.{digits}f}", *told])


def budget(cells: Sequence[Cell], chosen: Sequence[RunGroup]) -> str:
    """Repeats and epochs of the least funded, of the paper's, and how the last one learned."""
    poorest = min(chosen, key=lambda group: group.rank)
    first, protocol = poorest.first, cells[0].column.protocol
    recipe = [str(first.changed["recipe"])] if "recipe" in first.changed else []
    epochs = [f"{first.epochs} of {first.paper_epochs} epochs"] if first.valid is not None else []
    estimator = [chosen[-1].first.estimator] if chosen[-1].first.estimator and epochs else []
    return ", ".join([f"{len(poorest.records)} of {protocol}", *epochs, *recipe, *estimator])


def shown(cell: Cell, group: RunGroup, *, deviation: bool = True) -> str:
    """Our figure with as many digits as the paper's; a deviation only where there are two runs."""
    factor, digits = cell.column.factor, cell.printed.digits or 2
    spread = f"±{group.deviation * factor:.{digits}f}" if deviation and len(group.records) > 1 else ""
    return f"{group.mean * factor:.{digits}f}{spread}"
