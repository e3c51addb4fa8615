"""Pictures of the ledger: the paper's figures beside ours, and validation curves."""

from __future__ import annotations

from pathlib import Path

from lab.reproduce.declaration import Table
from lab.reproduce.summary import Groups, choose_groups
from policylearn.data.pictures import new_picture

PAPER, OURS = "tab:gray", "tab:blue"


def draw_table(table: Table, groups: Groups, path: Path) -> None:
    """A panel per column that was run, a line per method; bars are one deviation."""
    columns = [
        c for c in table.columns if any(cell.column == c and cell.experiment in groups for cell in table.cells())
    ]
    with new_picture(path, 4.5 * len(columns) + 1, 0.33 * len(table.all_rows) + 1.4, dpi=100) as figure:
        panels = figure.subplots(1, len(columns), squeeze=False)[0]
        for axis, column in zip(panels, columns, strict=True):
            for at, cell in enumerate(cell for cell in table.cells() if cell.column == column):
                printed = cell.printed
                if printed.mean is not None and column.measure == "metric":  # times of a GPU would hide ours
                    axis.errorbar(printed.mean, at - 0.12, xerr=printed.deviation or 0.0, fmt="o", color=PAPER, ms=4)
                chosen = choose_groups(groups.get(cell.experiment, []))[0]
                for group in chosen:
                    short = group.first.epochs < group.first.paper_epochs
                    axis.errorbar(
                        group.mean * column.factor,
                        at + 0.12,
                        xerr=group.deviation * column.factor,
                        fmt="D" if group.first.estimator == "straight_through" else "o",
                        color=OURS,
                        mfc="white" if short else OURS,
                        ms=4,
                    )
            axis.set_yticks(range(len(table.all_rows)), [row.title for row in table.all_rows])
            axis.invert_yaxis()
            axis.set(title=f"{column.title}, {'higher' if column.higher_is_better else 'lower'} is better")
            axis.grid(alpha=0.3)
        figure.supxlabel("grey: paper; blue: ours (hollow: fewer epochs; diamond: straight-through)", fontsize=8)


def draw_curves(dataset: str, groups: Groups, path: Path) -> None:
    """The mean validation curve of every configuration that was run on a dataset, a panel per target."""
    trained = sorted((e for e in groups if e.dataset == dataset and e.measure == "metric"), key=lambda e: e.slug)
    targets = sorted({e.target or "" for e in trained})
    with new_picture(path, 5.5 * len(targets) + 1, 3.6, dpi=100) as figure:
        for axis, target in zip(figure.subplots(1, len(targets), squeeze=False)[0], targets, strict=True):
            for experiment in trained:
                if (experiment.target or "") != target:
                    continue
                for group in choose_groups(groups[experiment])[0]:
                    curves = [record.curve["valid"] for record in group.records if record.curve]
                    if not curves:
                        continue
                    length = min(map(len, curves))
                    mean = [sum(curve[epoch] for curve in curves) / len(curves) for epoch in range(length)]
                    name = " ".join([experiment.slug, *([group.first.estimator] if group.first.estimator else [])])
                    axis.plot(range(1, length + 1), mean, label=f"{name} ({len(curves)})", lw=1)
            axis.set(
                xlabel="epoch", ylabel=f"validation {groups[trained[0]][0].first.metric}", title=f"{dataset} {target}"
            )
            axis.legend(fontsize=7)
            axis.grid(alpha=0.3)
