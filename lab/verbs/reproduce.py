"""``python -m lab reproduce``: run the paper's tables, keep every run in a ledger, and report on it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from lab.compare.strata import StrataPlan, stratified
from lab.ledger import JobOutcome, Ledger
from lab.reproduce.declaration import Table
from lab.reproduce.plan import Job, plan
from lab.reproduce.records import load_records
from lab.reproduce.report import write_report
from lab.reproduce.runner import run_table
from lab.reproduce.summary import group_records, paired_runs
from lab.reproduce.tables import TABLES
from lab.reproduce.wish import Wish
from lab.settings import look_up, open_ledger
from lab.training_bars import training_bars
from lab.verbs import verb
from policylearn.cli.options import Flag, Words
from policylearn.cli.printing import say
from policylearn.wording import markdown_table


@verb("reproduce")
def reproduce(
    table: str | None = None,
    /,
    *,
    wish: Wish | None = None,
    report: Flag = False,
    strata: Words = (),
    against: str = "random-t2",
    results: Path = Path("results"),
) -> int:
    """Run what is missing of a table of the paper; without a table, list the tables.

    Every finished run leaves one JSON below the results folder. A run that was stopped is continued, and several
    processes can share one folder.

    Args:
        table: which table; none lists them.
        wish: which part of the table, and how.
        report: write RESULTS.md from the records alone.
        strata: train nothing, and print differences paired over graphs, by properties of graphs such as 'nodes:20,30';
            see python -m lab compare.
        against: the row whose errors the others' are compared with.
        results: the folder of the records.
    """
    console, ledger = Console(stderr=True), open_ledger(results)
    if table is None and not report:
        return list_tables(ledger)
    if table is not None and strata:
        runs = paired_runs(find_table(table, TABLES), wish or Wish(), group_records(load_records(ledger)))
        say(stratified(runs, against, [StrataPlan.read(one) for one in strata]))
    elif table is not None:
        tell(run_with_bars(plan(find_table(table, TABLES), wish or Wish()), ledger, console), ledger)
    if report:
        say(str(write_report(ledger, TABLES)))
    return 0


def find_table(name: str, tables: tuple[Table, ...]) -> Table:
    """A table by its name."""
    return look_up("table", name, {table.name: table for table in tables})


def list_tables(ledger: Ledger) -> int:
    """Say which tables there are, and how many runs there are of each."""
    run, lines = [record.experiment for record in load_records(ledger)], []
    for table in TABLES:
        rows = " ".join(row.slug for row in table.all_rows)
        columns = " ".join(column.slug for column in table.columns)
        wanted = {cell.experiment for cell in table.cells()}
        lines.append((table.name, table.title, columns, rows, str(sum(experiment in wanted for experiment in run))))
    say(markdown_table(("table", "shows", "columns", "rows that can be run", "runs"), lines))
    return 0


def run_with_bars(jobs: list[Job], ledger: Ledger, console: Console) -> JobOutcome[Job]:
    """Run the jobs under two bars: all runs together, and the epochs of the current one."""
    with training_bars("runs", len(jobs), console) as (epoch_bar, advance):

        def after(job: Job) -> None:
            advance()
            if not console.is_terminal:  # bars that are not redrawn say nothing before the end
                word = "over" if ledger.find(job) else "another process is at it"
                say(f"{word}: {job.title}, {job.name}", console)

        return run_table(
            jobs, ledger, callbacks_of=lambda job: epoch_bar(job.title, job.cell.column.metric), after=after
        )


def tell(outcome: JobOutcome[Job], ledger: Ledger) -> None:
    """Say what was done and what was not, and why."""
    say(f"{len(outcome.done)} runs done, {len(outcome.found)} were there")
    for job in outcome.busy:
        say(f"{job.title}: another process is at it")
    for job in outcome.done:
        say(str(ledger.path(job)))
