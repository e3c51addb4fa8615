"""What the paper claims, each as a few cells of its tables in the order that it claims, the best last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lab.reproduce.declaration import Cell, Table
from lab.reproduce.summary import Groups, RunGroup, alike, difference

ORDER = "random picks beat none, learned ones beat random: GIN / Random T=2 / Policy-learn T=2"
NEAR_FULL = "learned picks come near all copies: Full / Policy-learn T=5"
COST = "and take a fraction of the time: Full / Policy-learn T=2, ms"
CSL = "CSL: marks tell apart what message passing cannot: GIN / Random T=2 / Policy-learn T=2"
EXP = "EXP: learned marks always do, random ones do not: GIN / Random T=2 / Policy-learn T=2"
COUNTING = "counting: learned picks beat random ones: GIN / Random T=5 / Policy-learn T=5"
GIN, RANDOM, LEARNED, FULL = "gin", "random-t2", "learned-t2", "full"


@dataclass(frozen=True)
class Claim:
    """Cells of one column of a table, worst first."""

    text: str
    table: str
    column: str
    rows: tuple[str, ...]


CLAIMS = (
    *(Claim(ORDER, "ogb", name, (GIN, RANDOM, LEARNED)) for name in ("molesol", "molbace", "molhiv", "moltox21")),
    Claim(ORDER, "zinc", "zinc", (GIN, RANDOM, LEARNED)),
    Claim(ORDER, "reddit", "reddit-binary", (GIN, RANDOM, LEARNED)),
    Claim(NEAR_FULL, "ogb", "molesol", (FULL, "learned-t5")),
    Claim(NEAR_FULL, "zinc", "zinc", (FULL, "learned-t5")),
    Claim(COST, "zinc-timing", "train", (FULL, LEARNED)),
    Claim(COST, "zinc-timing", "test", (FULL, LEARNED)),
    Claim(CSL, "expressivity", "csl", (GIN, RANDOM, LEARNED)),
    Claim(EXP, "expressivity", "exp", (GIN, RANDOM, LEARNED)),
    *(
        Claim(COUNTING, "counting", name, (GIN, "random-t5", "learned-t5"))
        for name in ("triangle", "tailed-triangle", "star", "cycle4")
    ),
)


def claim_line(claim: Claim, table: Table, groups: Groups) -> list[str]:
    """What the paper has, what we have, and the command, as cells of a table."""
    cells = [
        next(cell for cell in table.cells() if (cell.column.slug, cell.row.slug) == (claim.column, slug))
        for slug in claim.rows
    ]
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
