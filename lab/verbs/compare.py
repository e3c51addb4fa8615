"""``python -m lab compare``: variants over datasets and paired seeds, with the standard error of every difference."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path

from policylearn.cli.command import Command, Parser
from policylearn.cli.printing import spoken_notes
from policylearn.cli.stopping import stop_signals

HELP = "compare policies, estimators, systems or recipes over datasets with paired seeds"
ABOUT = (
    "Train every variant of a YAML on every dataset with every seed, once, and print means, paired differences with"
    " their standard errors and how many seeds would show a difference of 0.01. Start it several times at once to share"
    " the work, and once more after it was stopped to continue."
)


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument("comparison", type=Path, help="a YAML with reference, seeds, data and variants")
    parser.add_argument(
        "-o", "--output", type=Path | None, default=None, help="where records go (default: results/compare/NAME)"
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/compare"), help="where run folders go")
    parser.add_argument(
        "--equal-seconds", action="store_true", help="give all variants the reference's processor time, not its epochs"
    )
    parser.add_argument(
        "--minutes", type=float | None, default=None, help="start no further training after this many minutes"
    )
    parser.add_argument("--report", action="store_true", help="train nothing: print the results so far")
    parser.add_argument(
        "--against", type=str | None, default=None, metavar="VARIANT",
        help="print differences to this variant, and not to the YAML's reference, which the files keep",
    )  # fmt: skip


def run(options: Namespace) -> int:
    """Train under a progress bar, print the table, and write it with a picture beside the records."""
    from rich.console import Console

    from lab.compare import load_records, read_comparison, run_comparison, summarise, to_markdown
    from lab.compare.plan import CompareJob, check_variant, jobs_of
    from lab.compare.summary import draw
    from policylearn.cli.progress import add_bar, progress_bars
    from policylearn.cli.training_progress import TrainingBar
    from policylearn.data.atomic import write_text

    comparison = read_comparison(options.comparison)
    against = check_variant(comparison, options.against or comparison.reference)
    folder = options.output or Path("results/compare") / comparison.name
    console = Console(stderr=True)
    if not options.report:
        total = len(jobs_of(comparison))
        kept = "finished trainings and checkpoints are kept; call the same command again to continue"
        with spoken_notes(console), stop_signals(lambda: kept), progress_bars(console) as progress:
            trainings, epochs = add_bar(progress, "trainings", total), add_bar(progress, "epochs")

            def bar(job: CompareJob) -> list[TrainingBar]:
                return [TrainingBar(progress, epochs, job.record, "")]

            deadline = None if options.minutes is None else time.monotonic() + 60 * options.minutes
            run_comparison(
                comparison,
                folder,
                options.runs / comparison.name,
                equal_seconds=options.equal_seconds,
                deadline=deadline,
                callbacks_of=bar,
                after=lambda _job: progress.advance(trainings),
            )
    records = load_records(folder)
    if not records:
        console.print(f"{folder}: there is no record yet; run without --report first", soft_wrap=True)
        return 1
    rows = summarise(records, comparison.reference)
    write_text(folder / "summary.md", to_markdown(rows, comparison.reference) + "\n")
    draw(rows, folder / "summary.png", comparison.reference)
    table = to_markdown(summarise(records, against), against)
    Console().print(table, markup=False, highlight=False, soft_wrap=True)
    return 0


COMMAND = Command("compare", HELP, add_options, run, about=ABOUT)
