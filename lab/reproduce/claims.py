"""What the paper claims, each as a few cells of its tables in the order that it claims, the best last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lab.reproduce.declaration import Cell, Experiment, Table
from lab.reproduce.summary import Groups, RunGroup, alike, difference
from lab.reproduce.tables import PAPER
from lab.settings import settings_of
from policylearn.settings.flat import flat
from policylearn.wording import write_value


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
    """Repeats and epochs of the least funded, of the paper's, and the settings of the last one that learns."""
    poorest = min(chosen, key=lambda group: group.rank)
    learner = next((group for group in reversed(chosen) if group.first.estimator), poorest)
    first, protocol = poorest.first, cells[0].column.protocol
    epochs = [f"{first.epochs} of {first.paper_epochs} epochs"] if first.valid is not None else []
    settings = [settings_text(learner)] if epochs else []
    return ", ".join(filter(None, [f"{len(poorest.records)} of {protocol}", *epochs, *settings]))


def shown(cell: Cell, group: RunGroup, *, deviation: bool = True) -> str:
    """Our figure with as many digits as the paper's; a deviation only where there are two runs."""
    factor, digits = cell.column.factor, cell.printed.digits or 2
    spread = f"±{group.deviation * factor:.{digits}f}" if deviation and len(group.records) > 1 else ""
    return f"{group.mean * factor:.{digits}f}{spread}"


def settings_text(group: RunGroup) -> str:
    """Estimator, mode, and what was changed, with a mark on what the paper's grid does not hold."""
    first, outside = group.first, group.departures
    words = [first.estimator] if first.estimator else []
    words += ["paper mode"] if first.mode == "paper" else []
    changed = without_recipe(first.experiment, group.changed)
    words += [
        f"{short_name(key)} {write_value(value)}{'†' if key in outside else ''}" for key, value in changed.items()
    ]
    return ", ".join(words)


def without_recipe(experiment: Experiment, changed: dict[str, Any]) -> dict[str, Any]:
    """Changes without those that a recipe brings with it, where one is among them."""
    if "recipe" not in changed:
        return changed
    whole = replace(experiment, settings=(*experiment.settings, ("recipe", changed["recipe"])))
    brought = flat(settings_of(whole.config()))
    return {key: value for key, value in changed.items() if key == "recipe" or brought.get(key) != value}


def short_name(key: str) -> str:
    """A setting's own name; one of a transform with the name of the transform."""
    transform = key.removeprefix("data.transforms.")
    return transform if transform != key else key.split(".")[-1]
