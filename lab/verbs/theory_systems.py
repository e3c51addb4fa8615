"""``python -m lab theory systems``: which graphs each published system tells apart."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from policylearn.cli.command import Command, Parser
from policylearn.cli.printing import print_table

HELP = "ask which graphs of SR25, CSL and EXP each published system tells apart, without training"
ABOUT = (
    "Give each system random weights, in double precision and in evaluation form. Two graphs are told apart where its"
    " outputs differ by far more than between a graph and itself in another order of nodes. What is proven stands in"
    " brackets. What has a record already is not measured again."
)


def add_options(parser: Parser) -> None:
    """Options of the action."""
    parser.add_argument("--only", type=str, nargs="+", default=[], help="names of systems; none means all")
    parser.add_argument(
        "--graphs", type=str, nargs="+", default=["sr25", "csl", "exp"], help="which: sr25, csl and exp"
    )
    parser.add_argument("--pairs", type=int, default=30, help="of EXP's 600, spread over all of them")
    parser.add_argument("--seeds", type=int, default=3, help="how often weights are drawn")
    parser.add_argument("--layers", type=int, default=6, help="of each network")
    parser.add_argument("--channels", type=int, default=8, help="of each network")
    parser.add_argument("--markdown", action="store_true", help="the table as it stands in the documentation")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("results/theory/systems"), help="folder of the records"
    )


def run(options: Namespace) -> int:
    """Measure under a progress bar and print the table; 1 where something contradicts what is proven."""
    from rich.console import Console
    from rich.table import Table

    from lab.theory.systems import TellingConfig, all_configs, tell_all, telling_rows, telling_table
    from lab.theory.systems.records import HEADINGS
    from policylearn.cli.progress import add_bar, progress_bars

    for name in ("pairs", "seeds", "layers", "channels"):
        if getattr(options, name) < 1:
            raise ValueError(f"'{name}' must be >= 1 (got {getattr(options, name)})")
    configs = all_configs(
        options.only,
        options.graphs,
        pairs=options.pairs,
        seeds=options.seeds,
        layers=options.layers,
        channels=options.channels,
    )
    with progress_bars(Console(stderr=True), transient=True) as progress:
        task = add_bar(progress, "", 1.0)

        def tell(config: TellingConfig, share: float) -> None:
            progress.update(task, description=f"{config.subject} on {config.family}", completed=share)

        records = tell_all(configs, options.output, tell)
    if options.markdown:
        print(telling_table(records))
    else:
        table = Table(*HEADINGS, title="pairs of graphs told apart (proven)", show_lines=True)
        for row in telling_rows(records):
            table.add_row(*row)
        print_table(table, 180)
    return int(not all(record.agrees for record in records))


COMMAND = Command("systems", HELP, add_options, run, about=ABOUT)
