"""RESULTS.md, from the declarations and the ledger alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from lab.ledger import Ledger, LedgerError
from lab.pages import replace_between
from lab.reproduce.claims import CLAIMS, claim_line, settings_text, shown
from lab.reproduce.comparisons import COMPARE, take_over
from lab.reproduce.declaration import ABSENT, Cell, Experiment, Table
from lab.reproduce.picks import picks_table
from lab.reproduce.plan import command_of
from lab.reproduce.records import Record, load_records
from lab.reproduce.summary import Groups, RunGroup, group_records, verdict
from policylearn.data.atomic import write_text
from policylearn.wording import markdown_table

HEAD = """# Results

Made by `python -m lab reproduce --report` from the records below `{root}/`, one JSON per run; not written by hand.

- **ours**: mean ± deviation over the runs. Seeds: the test metric at the best validation epoch. Folds: each fold's
  metric at the best epoch of the mean validation curve. The deviation is the standard deviation with divisor n.
- **one line per method**: the best-funded runs; with equal funding those nearest to the paper's settings, then those
  with the best validation metric. All others are folded below their table.
- **epochs**: ours of the paper's. With fewer, the learning rate's steps are brought forward in proportion.
- **settings**: what differs from the paper's, chosen on validation; a value with † is not in the paper's grid.
- **verdict**: *within one deviation of the paper* (ours where it prints none), *better* or *worse*.
"""
CLAIM_HEAD = """## What the paper claims

`python -m lab reproduce` with the words of the last column runs the cells of a line at the paper's budget; *ahead* is
the gain of the last method over the one before it, with its standard error, paired; *runs* are those of the
least funded one, with the settings of the learned picks.
"""


def write_report(ledger: Ledger, tables: Sequence[Table]) -> Path:
    """Write RESULTS.md beside the ledger's folder, and the table of picks into README.md."""
    records = [*load_records(ledger), *take_over(ledger.root, tables)]
    path = ledger.root.parent / "RESULTS.md"
    if not records:
        raise LedgerError(
            f"{ledger.root}: holds no records, so there is nothing to report and {path} is left as it is; give the"
            " folder of the records with --results, or run a table first"
        )
    write_text(path, make_report(records, tables, ledger.root.name))
    readme = path.with_name("README.md")
    if readme.is_file():
        picks = picks_table({table.name: table for table in tables}, group_records(records))
        replace_between(readme, "<!-- picks -->\n", f"{picks}\n", "<!-- /picks -->")
    return path


def make_report(records: Iterable[Record], tables: Sequence[Table], root: str) -> str:
    """The text; the same for the same records."""
    groups, by_name = group_records(records), {table.name: table for table in tables}
    lines = [claim_line(claim, by_name[claim.table], groups) for claim in CLAIMS if claim.table in by_name]
    headings = ("claim", "data", "paper", "ours", "ahead", "runs", "command")
    parts = [HEAD.format(root=root)]
    parts += [CLAIM_HEAD, markdown_table(headings, without_repeats(lines)) + "\n"] if lines else []
    seen: set[Experiment] = set()
    for table in tables:
        parts.append(section(table, groups, seen))
        seen |= {cell.experiment for cell in table.cells()}
    return "\n".join(parts)


def without_repeats(lines: Sequence[list[str]]) -> list[list[str]]:
    """Lines of a table whose first cell is left empty where it says the same as the line above."""
    above = ["", *(line[0] for line in lines)]
    return [["" if line[0] == before else line[0], *line[1:]] for before, line in zip(above, lines, strict=False)]


def section(table: Table, groups: Groups, seen: set[Experiment]) -> str:
    """One table of the paper with ours beside it; what an earlier table has shown is not repeated."""
    parts = [f'<a id="{table.name}"></a>\n\n## {table.title}\n']
    about = [f"The paper's `{table.label}`."] + ([table.note] if table.note else [])
    cells = [cell for cell in table.cells() if cell.experiment not in seen]
    about += ["Methods that a table above has are not repeated."] if len(cells) < len(list(table.cells())) else []
    run = [cell for cell in cells if groups.get(cell.experiment)]
    missing = [cell for cell in cells if cell not in run and cell.printed.text not in ABSENT]
    parts.append(" ".join(about) + "\n")
    if run:
        headings = ("data", "method", "paper", "ours", "runs", "epochs", "settings", "verdict")
        lines = [
            [data_of(cell), cell.row.title, cell.printed.text, *figures(cell, best), verdict(cell, best)]
            for cell in run
            for best in groups[cell.experiment][:1]
        ]
        parts.append(markdown_table(headings, without_repeats(lines)) + "\n")
    if missing:
        names = [
            f"{cell.column.slug} {cell.row.title}" if len(table.columns) > 1 else cell.row.title for cell in missing
        ]
        parts.append(f"Not run: {'; '.join(names)}.\n")
    parts += [f"Needs {column.needs}.\n" for column in table.columns if column.needs]
    if run:
        parts += ["<details><summary>Commands, notes and other runs</summary>\n", *folded(run, groups), "</details>\n"]
    return "\n".join(parts)


def folded(cells: Sequence[Cell], groups: Groups) -> list[str]:
    """The commands of the lines, what must be known of data and methods, and all other runs."""
    best = [groups[cell.experiment][0] for cell in cells]
    commands = joined("--columns", joined("--rows", dict.fromkeys(map(repeating, cells, best))))
    parts = ["```sh\n" + "\n".join(commands) + "\n```\n"]
    notes = [f"{cell.row.method.name}: {cell.row.method.note}." for cell in cells if cell.row.method.note]
    notes += [
        f"Data: `{group.first.dataset['name']}`: {group.first.dataset['caveat']}."
        for group in best
        if group.first.dataset["caveat"]
    ]
    parts += [f"- {note}" for note in dict.fromkeys(notes)] + ([""] if notes else [])
    others = [
        [data_of(cell), cell.row.title, *figures(cell, group)]
        for cell in cells
        for group in groups[cell.experiment][1:]
    ]
    if others:
        headings = ("data", "method", "ours", "runs", "epochs", "settings")
        parts.append(markdown_table(headings, without_repeats(others)) + "\n")
    return parts


def figures(cell: Cell, group: RunGroup) -> list[str]:
    """Our figure, how often and how long it was trained, and with which settings."""
    first = group.first
    epochs = f"{first.epochs} of {first.paper_epochs}" if first.valid is not None else ""
    return [shown(cell, group), f"{len(group.records)} of {cell.column.protocol}", epochs, settings_text(group)]


def data_of(cell: Cell) -> str:
    """The column with its direction."""
    return f"{cell.column.title} {'↑' if cell.column.higher_is_better else '↓'}"


def repeating(cell: Cell, group: RunGroup) -> str:
    """The command that repeats a group."""
    first = group.first
    if not group.of_today:
        return f"# an option is gone; at commit {first.commit[:7]}: {first.command}"
    if COMPARE in first.command:
        return first.command
    return command_of(cell, first.config, [record.number for record in group.records])


def joined(option: str, commands: Iterable[str]) -> list[str]:
    """Commands that differ in the words of one option alone as one command with all of these words."""
    found: dict[tuple[str, ...], list[str]] = {}
    for command in commands:
        at = re.search(rf"(?<= {option} )\w\S*( \w\S*)*", command)
        key = (command,) if at is None else (command[: at.start()], command[at.end() :])
        found.setdefault(key, []).append("" if at is None else at[0])
    return [" ".join(words).join(key) if len(key) > 1 else key[0] for key, words in found.items()]
