"""``python -m lab theory``: the paper's statements, checked, its first figure, drawn, and its policies, trained."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from lab.verbs import theory_gradients, theory_learn, theory_systems
from policylearn.cli.command import Command, Parser
from policylearn.cli.printing import print_table

HELP = "check the paper's statements, draw what the WL test sees of marked graphs, or train policies on them"


def add_check_options(parser: Parser) -> None:
    """Options of the checks."""
    parser.add_argument("--only", type=str, nargs="+", default=[], help="names of checks; none means all")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown, as in the documentation")


def add_wl_options(parser: Parser) -> None:
    """Options of the figure."""
    parser.add_argument("--csl", type=int, nargs="+", default=[13, 5, 3], help="nodes, then the skip of each graph")
    parser.add_argument("--root", type=int, default=0, help="which node to mark")
    parser.add_argument("-o", "--output", type=Path, default=Path("figure1.png"), help="the PNG")


def run_checks(options: Namespace) -> int:
    """Run the checks under a progress bar and print their table; 1 if one fails."""
    from rich.console import Console
    from rich.table import Table

    from lab.theory import CHECKS, check_table
    from lab.theory.checks import HEADINGS
    from policylearn.cli.progress import add_bar, progress_bars

    unknown = [name for name in options.only if name not in CHECKS]
    if unknown:
        raise ValueError(f"there is no check '{unknown[0]}'; the checks are {', '.join(CHECKS)}")
    chosen = options.only or list(CHECKS)
    found = []
    with progress_bars(Console(stderr=True), transient=True) as progress:
        task = add_bar(progress, "", len(chosen))
        for name in chosen:
            progress.update(task, description=name)
            found.append(CHECKS[name]())
            progress.advance(task)
    if options.markdown:
        print(check_table(found))
    else:
        table = Table(show_lines=True)
        for heading in ("check", *HEADINGS):
            table.add_column(heading)
        for name, check in zip(chosen, found, strict=True):
            colour = {True: "green", False: "bold red", None: "yellow"}[check.holds]
            *cells, verdict = (cell.replace("`", "") for cell in check.cells())
            table.add_row(name, *cells, f"[{colour}]{verdict}[/]")
        print_table(table, 200)
    return int(any(check.holds is False for check in found))


def draw_colours(options: Namespace) -> int:
    """Colour the graphs, say the class sizes, and draw."""
    from lab.theory.figure import colour_csl
    from lab.theory.wl import UNMARKED
    from policylearn.explain import Panel, draw_panels

    n, *skips = options.csl
    if not skips:
        raise ValueError(f"'--csl' needs the number of nodes and at least one skip (got {n} alone), such as 13 5 3")
    panels = []
    for graph in colour_csl(n, skips, options.root):
        state = "unmarked" if graph.root == UNMARKED else f"node {graph.root} marked"
        sizes = "{" + ", ".join(map(str, graph.class_sizes)) + "}"
        print(f"{graph.name}, {state}: classes of {sizes} nodes")
        panels.append(
            Panel(
                edges=graph.edges,
                num_nodes=n,
                title=f"{graph.name}, {state}\n{sizes}",
                classes=graph.colours.tolist(),
                marks={} if graph.root == UNMARKED else {graph.root: "x"},
                layout="circle",
            )
        )
    print(draw_panels(panels, options.output, columns=len(skips)))
    return 0


COMMAND = Command(
    "theory",
    HELP,
    actions=(
        Command(
            "check",
            "run every check of the paper's statements, or some, and print a table",
            add_check_options,
            run_checks,
        ),
        Command(
            "wl", "colour CSL graphs by 1-WL, unmarked and with one mark, and draw them", add_wl_options, draw_colours
        ),
        theory_learn.LEARN,
        theory_learn.RESULTS,
        theory_gradients.COMMAND,
        theory_systems.COMMAND,
    ),
)
