"""RESULTS.md, from the declarations and the ledger alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lab.ledger import Ledger, LedgerError
from lab.reproduce.comparisons import take_over
from lab.reproduce.declaration import Cell, Column, Experiment, Table
from lab.reproduce.pictures import draw_curves, draw_table
from lab.reproduce.plan import command_of
from lab.reproduce.records import PICTURES, Record, load_records
from lab.reproduce.summary import Groups, RunGroup, choose_groups, difference, group_records, verdict
from policylearn.data.atomic import write_text
from policylearn.settings import RunConfig, changed
from policylearn.wording import markdown_table, write_value

PER_CENT = ("accuracy", "rocauc")

HEAD = """# Results

Made by `python -m lab reproduce --report` from the records below `{root}/`, one JSON per run; not written by hand.

- **paper**: as printed. "-" and "N/A" were not reported, "OOM" did not fit into memory.
- **ours**: mean ± deviation over the runs. Seeds: the test metric at the best validation epoch. Folds: each fold's
  metric at the best epoch of the mean validation curve. The deviation has n below the root.
- **epochs**: ours of the paper's. With fewer, the learning rate's steps are brought forward in proportion.
- **settings**: what was chosen of the paper's grid, on validation; a value with † is not in that grid.
- **verdict**: *within one deviation* of the paper (the paper's; ours where it prints none), else *better* or *worse*.
  *Reduced budget*: fewer epochs or fewer repeats than the paper's, with what it looks like so far. *Another machine*:
  times that compare with each other only.
- A command finds its runs done where their records are there; with `--results FOLDER` it runs them from the start.
"""


def write_report(ledger: Ledger, tables: Sequence[Table]) -> Path:
    """Write RESULTS.md beside the ledger's folder, and its pictures into the folder.

    Args:
        ledger: the records.
        tables: what to report on.
    """
    records = [*load_records(ledger), *take_over(ledger.root, tables)]
    path = ledger.root.parent / "RESULTS.md"
    if not records:
        raise LedgerError(
            f"{ledger.root}: holds no records, so there is nothing to report and {path} is left as it is; give the"
            " folder of the records with --results, or run a table first"
        )
    groups = group_records(records)
    folder = ledger.root / PICTURES
    for table in tables:
        if has_figures(table, groups):
            draw_table(table, groups, folder / f"{table.name}.png")
    for dataset in datasets_with_curves(groups):
        draw_curves(dataset, groups, folder / curves_file(dataset))
    write_text(path, make_report(records, tables, ledger.root.name))
    return path


def make_report(records: Iterable[Record], tables: Sequence[Table], root: str) -> str:
    """The text; the same for the same records.

    Args:
        records: of the ledger.
        tables: what to report on.
        root: the name of the ledger's folder.
    """
    groups = group_records(records)
    parts = [HEAD.format(root=root), overview(tables, groups), contest(groups)]
    parts += [section(table, groups, root) for table in tables]
    curves = [f"![{name}]({root}/{PICTURES}/{curves_file(name)})" for name in datasets_with_curves(groups)]
    if curves:
        parts.append("## Validation curves\n\n" + "\n\n".join(curves) + "\n")
    return "\n".join(part for part in parts if part)


def overview(tables: Sequence[Table], groups: Groups) -> str:
    """How many cells of each table have come out how."""
    kinds = ("within one deviation", "better", "worse", "reduced budget", "not run", "needs data")
    rows = []
    for table in tables:
        counts = dict.fromkeys([*kinds, "other"], 0)
        for cell in table.cells():
            kind = verdict(cell, headline(cell, groups)).split(" (")[0]
            counts[kind if kind in kinds else "other"] += 1
        rows.append([f"[{table.name}](#{table.name})", table.title, *(str(n) if n else "" for n in counts.values())])
    return "## All tables, by cells\n\n" + markdown_table(["table", "shows", *kinds, "other"], rows) + "\n"


def headline(cell: Cell, groups: Groups) -> RunGroup | None:
    """The group that counts for a cell in the overview: no departure before some, then the usual rank."""
    chosen, _ = choose_groups(groups.get(cell.experiment, []))
    return max(chosen, key=lambda g: (not g.departures, len(g.records), g.first.epochs), default=None)


def section(table: Table, groups: Groups, root: str) -> str:
    """One table of the paper with ours beside it, how to get ours, and what to know of its data."""
    parts = [
        f'<a id="{table.name}"></a>\n\n## {table.title}\n',
        f"The paper's `{table.label}`. {table.note}".strip() + "\n",
    ]
    commands: list[str] = []
    notes: list[str] = []
    for column in table.columns:
        cells = [cell for cell in table.cells() if cell.column == column]
        rows = [line for cell in cells for line in cell_lines(cell, groups, commands, notes)]
        direction = "higher" if column.higher_is_better else "lower"
        parts.append(f"**{column.title}**, {direction} is better, {column.protocol}, data `{data_of(column)}`\n")
        headings = ("method", "paper", "ours", "runs", "epochs", "mode, estimator", "settings", "verdict")
        parts.append(markdown_table(headings, rows) + "\n")
        if column.needs:
            parts.append(f"Needs {column.needs}.\n")
    parts += [f"{note}\n" for note in dict.fromkeys(notes)]
    if has_figures(table, groups):
        parts.append(f"![{table.title}]({root}/{PICTURES}/{table.name}.png)\n")
    if commands:
        parts.append("```sh\n" + "\n".join(commands) + "\n```\n")
    return "\n".join(parts)


def data_of(column: Column) -> str:
    """The dataset with its target."""
    return column.dataset if column.target is None else f"{column.dataset} {column.target}"


def cell_lines(cell: Cell, groups: Groups, commands: list[str], notes: list[str]) -> Iterator[list[str]]:
    """The lines of a cell: one per group that stands for it; commands and notes are added to the lists."""
    experiment = cell.experiment
    chosen, tried = choose_groups(groups.get(experiment, []))
    if cell.row.method.note:
        notes.append(f"{cell.row.method.name}: {cell.row.method.note}.")
    if not chosen:
        epochs = "" if cell.column.measure != "metric" else f"0 of {experiment.config().fit.epochs}"
        yield [cell.row.title, cell.printed.text, "", "", epochs, "", "", verdict(cell, None)]
        return
    for group in chosen:
        first, protocol = group.first, cell.column.protocol
        repeats = f"{len(group.records)} of {protocol}"
        epochs = f"{first.epochs} of {first.paper_epochs}" if first.valid is not None else ""
        way = f"{first.mode}, {first.estimator}" if first.mode else ""
        figures = [shown(cell, group), repeats, epochs, way, settings_of(group)]
        yield [cell.row.title, cell.printed.text, *figures, verdict(cell, group)]
        numbers = [record.number for record in group.records]
        commands += [f"# {cell.column.slug}, {cell.row.title}{f', {way}' if way else ''}: {shown(cell, group)}"]
        commands += [command_of(cell.table, cell, config_of(first), experiment.config(), numbers)]
        if first.dataset["caveat"]:
            notes.append(f"Data: `{first.dataset['name']}`: {first.dataset['caveat']}.")
        if first.schedule:
            notes.append(f"{first.epochs} of {first.paper_epochs} epochs: {first.schedule}.")
    if tried:
        listed = "; ".join(
            f"{settings_of(group) or 'as preset'}, {len(group.records)} runs, {group.first.epochs} epochs:"
            f" {group.valid * cell.column.factor:.{cell.printed.digits + 1}f}"
            for group in tried
            if group.valid is not None
        )
        notes.append(f"{cell.column.title}, {cell.row.title}: also tried, with their validation figure: {listed}.")


def config_of(record: Record) -> RunConfig:
    """A record's configuration."""
    return changed(RunConfig(), record.config, f"the record of {record.experiment.slug}")


def shown(cell: Cell, group: RunGroup) -> str:
    """Our figure with as many digits as the paper's; a deviation only where there are two runs."""
    factor, digits = cell.column.factor, cell.printed.digits or 2
    deviation = f"±{group.deviation * factor:.{digits}f}" if len(group.records) > 1 else ""
    return f"{group.mean * factor:.{digits}f}{deviation}"


def settings_of(group: RunGroup) -> str:
    """What was changed, with a mark on what the paper's grid does not hold."""
    outside = dict(group.departures)
    return ", ".join(
        f"{short_name(key)} {write_value(value)}{'†' if key in outside else ''}" for key, value in group.changed.items()
    )


def short_name(key: str) -> str:
    """A setting's own name; one of a transform with the name of the transform."""
    transform = key.removeprefix("data.transforms.")
    return transform if transform != key else key.split(".")[-1]


def contest(groups: Groups) -> str:
    """Learned against random picks, wherever both were run with the same number of epochs."""
    rows = []
    for experiment in sorted(groups, key=lambda e: (e.dataset, e.slug)):
        if not experiment.learns or experiment.measure != "metric":
            continue
        twin = Experiment(experiment.dataset, "random", experiment.picks, experiment.target, experiment.settings)
        for learned in choose_groups(groups[experiment])[0]:
            for random in choose_groups(groups.get(twin, []))[0]:
                found = difference(learned, random)
                if found is None:
                    continue
                first = learned.first
                factor, digits = (100.0, 2) if first.metric in PER_CENT else (1.0, 4)
                name = " ".join([experiment.dataset, *([experiment.target] if experiment.target else [])])
                values = [f"{group.mean * factor:.{digits}f} ({len(group.values)})" for group in (learned, random)]
                values += [
                    f"{found.better_by * factor:+.{digits}f}",
                    f"{found.error * factor:.{digits}f}",
                    "yes" if found.clear else "no",
                ]
                rows.append(
                    [name, f"{experiment.picks}", f"{first.mode}, {first.estimator}", str(first.epochs), *values]
                )
    if not rows:
        return ""
    headings = (
        "data",
        "T",
        "mode, estimator",
        "epochs",
        "learned (n)",
        "random (n)",
        "better by",
        "standard error",
        "clear",
    )
    return (
        "## Learned against random picks\n\nClear: better by more than the standard error of the difference.\n\n"
        + markdown_table(headings, rows)
        + "\n"
    )


def has_figures(table: Table, groups: Groups) -> bool:
    """Whether any cell has been run."""
    return any(cell.experiment in groups for cell in table.cells())


def datasets_with_curves(groups: Groups) -> list[str]:
    """Names of datasets that were trained on."""
    return sorted({e.dataset for e, found in groups.items() if any(group.first.curve for group in found)})


def curves_file(dataset: str) -> str:
    """The name of a dataset's picture of curves; of one that is a path, its last part is taken."""
    return f"curves-{Path(dataset).stem}.png"
