"""``python -m lab reproduce``: run the paper's tables, keep every run in a ledger, and report on it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policylearn.cli.command import Command, Parser
from policylearn.cli.printing import print_table, say, spoken_notes
from policylearn.cli.stopping import stop_signals

if TYPE_CHECKING:
    from rich.console import Console

    from lab.ledger import JobOutcome, Ledger
    from lab.reproduce import Job, Table, Wish

HELP = "run the paper's tables, resume and share the work, report paper against ours"
ABOUT = (
    "Run what is missing of a table of the paper. Every finished run leaves one JSON below the results folder; a run"
    " that was stopped is continued, and several processes can share one folder. Without a table: list the tables."
)


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument("table", type=str | None, nargs="?", default=None, help="which table; none lists them")
    parser.add_argument("--report", action="store_true", help="write RESULTS.md and pictures from the records alone")
    parser.add_argument(
        "--rows", type=str, nargs="+", default=[], help="such as learned-t2 or 'random*' (default: all)"
    )
    parser.add_argument("--columns", type=str, nargs="+", default=[], help="such as molesol (default: all)")
    parser.add_argument("--seeds", type=int | None, default=None, help="how many seeds or folds (default: the paper's)")
    parser.add_argument("--only", type=int, nargs="+", default=[], help="these seeds or folds, counted from 0")
    parser.add_argument(
        "--epochs",
        type=int | None,
        default=None,
        help="epochs of each run; fewer than the paper's are marked in the report",
    )
    parser.add_argument("--budget", type=float | None, default=None, help="stop after this many minutes")
    parser.add_argument(
        "--set",
        type=str,
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="change settings, such as selection.tau=0.33",
    )
    parser.add_argument(
        "--estimator",
        type=str,
        nargs="+",
        default=[],
        help="of the learned policy: reinforce, rloo, straight_through, gapped, imle",
    )
    parser.add_argument("--results", type=Path, default=Path("results"), help="the folder of the records")


def run(options: Namespace) -> int:
    """List, run or report."""
    from rich.console import Console

    from lab.reproduce import TABLES, open_ledger, plan, write_report

    console, ledger = Console(stderr=True), open_ledger(options.results)
    if options.table is None and not options.report:
        return list_tables(ledger)
    if options.table is not None:
        jobs = plan(find_table(options.table, TABLES), wish_of(options))
        minutes = options.budget
        outcome = run_with_bars(jobs, ledger, None if minutes is None else minutes * 60, console)
        tell(Console(), outcome, ledger)
    if options.report:
        print(write_report(ledger, TABLES))
    return 0


def find_table(name: str, tables: tuple[Table, ...]) -> Table:
    """A table by its name, or an error with the nearest one."""
    from policylearn.wording import hint

    known = {table.name: table for table in tables}
    if name not in known:
        way_out = hint(name, known, f"the tables are {', '.join(known)}")
        raise ValueError(f"there is no table '{name}'; {way_out}")
    return known[name]


def wish_of(options: Namespace) -> Wish:
    """What the options ask for."""
    from lab.reproduce import Wish

    return Wish(
        rows=tuple(options.rows),
        columns=tuple(options.columns),
        seeds=options.seeds,
        only=tuple(options.only),
        epochs=options.epochs,
        settings=dict(map(setting, options.set)),
        estimators=tuple(options.estimator),
    )


def setting(word: str) -> tuple[str, Any]:
    """A setting's dotted name and its value."""
    import yaml

    key, sign, value = word.partition("=")
    if not sign or not key:
        raise ValueError(f"--set: '{word}' is no KEY=VALUE; write for example selection.tau=0.33")
    try:
        return key, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ValueError(f"--set: the value of '{word}' cannot be read ({' '.join(str(error).split())})") from error


def list_tables(ledger: Ledger) -> int:
    """Say which tables there are, and how many runs there are of each."""
    from rich import box
    from rich.table import Table as Grid

    from lab.reproduce import TABLES, load_records

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("table", "shows", "columns", "rows that can be run", "runs"):
        grid.add_column(heading, overflow="fold")
    run = [record.experiment for record in load_records(ledger)]
    for table in TABLES:
        rows = [row.slug for row in table.all_rows]
        columns = [column.slug for column in table.columns]
        wanted = {cell.experiment for cell in table.cells()}
        runs = sum(experiment in wanted for experiment in run)
        grid.add_row(table.name, table.title, " ".join(columns), " ".join(rows), str(runs))
    print_table(grid)
    return 0


def run_with_bars(jobs: list[Job], ledger: Ledger, seconds: float | None, console: Console) -> JobOutcome[Job]:
    """Run the jobs under two bars: all runs together, and the epochs of the current one."""
    from lab.reproduce import run_table
    from policylearn.cli.progress import add_bar, progress_bars
    from policylearn.cli.training_progress import TrainingBar

    kept = "finished runs and checkpoints are kept; call the same command again to continue"
    with spoken_notes(console), stop_signals(lambda: kept), progress_bars(console) as progress:
        everything, current = add_bar(progress, "runs", len(jobs)), add_bar(progress, "epochs")

        def after(job: Job) -> None:
            progress.advance(everything)
            if not console.is_terminal:  # bars that are not redrawn say nothing before the end
                word = "over" if ledger.find(job) else "another process is at it"
                say(f"{word}: {job.title}, {job.name}", console)

        return run_table(
            jobs,
            ledger,
            budget_seconds=seconds,
            callbacks_of=lambda job: [TrainingBar(progress, current, job.title, job.cell.column.metric)],
            after=after,
        )


def tell(console: Console, outcome: JobOutcome[Job], ledger: Ledger) -> None:
    """Say what was done and what was not, and why."""

    def line(text: str) -> None:
        say(text, console)

    line(f"{len(outcome.done)} runs done, {len(outcome.found)} were there, {len(outcome.left)} left for lack of time")
    for job in outcome.busy:
        line(f"{job.title}: another process is at it")
    for job in outcome.done:
        line(str(ledger.path(job)))


COMMAND = Command("reproduce", HELP, add_options, run, about=ABOUT)
