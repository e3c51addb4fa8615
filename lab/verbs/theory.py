"""``python -m lab theory``: the paper's statements, checked, its first figure, drawn, and its policies, trained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from lab.verbs import verb
from policylearn.cli.options import Flag, Numbers, Words
from policylearn.cli.printing import print_table, say
from policylearn.demo.learning import METHODS, LearningConfig

if TYPE_CHECKING:
    from lab.theory import LearningRecord

OutputFile = Annotated[Path, Parameter(alias="-o")]


@verb("theory check")
def check(*, only: Words = (), markdown: Flag = False) -> int:
    """Run every check of the paper's statements, or some, and print a table; 1 if one fails.

    Args:
        only: names of checks; none means all.
        markdown: print the table as Markdown, as in the documentation.
    """
    from rich.console import Console
    from rich.table import Table

    from lab.theory import CHECKS, check_table
    from lab.theory.checks import HEADINGS
    from policylearn.cli.progress import add_bar, progress_bars

    unknown = [name for name in only if name not in CHECKS]
    if unknown:
        raise ValueError(f"there is no check '{unknown[0]}'; the checks are {', '.join(CHECKS)}")
    chosen = only or tuple(CHECKS)
    found = []
    with progress_bars(Console(stderr=True), transient=True) as progress:
        bar = add_bar(progress, "", len(chosen))
        for name in chosen:
            progress.update(bar, description=name)
            found.append(CHECKS[name]())
            progress.advance(bar)
    if markdown:
        say(check_table(found))
    else:
        table = Table("check", *HEADINGS, show_lines=True)
        for name, one in zip(chosen, found, strict=True):
            colour = {True: "green", False: "bold red", None: "yellow"}[one.holds]
            *cells, verdict = (cell.replace("`", "") for cell in one.cells())
            table.add_row(name, *cells, f"[{colour}]{verdict}[/]")
        print_table(table, 200)
    return int(any(one.holds is False for one in found))


@verb("theory wl")
def draw_colours(*, csl: Numbers = (13, 5, 3), root: int = 0, output: OutputFile = Path("figure1.png")) -> None:
    """Colour CSL graphs by 1-WL, unmarked and with one mark, and draw them.

    Args:
        csl: nodes, then the skip of each graph.
        root: which node to mark.
        output: the PNG.
    """
    from lab.theory import colour_csl
    from lab.theory.wl import UNMARKED
    from policylearn.explain import Panel, draw_panels

    n, *skips = csl
    if not skips:
        raise ValueError(f"'--csl' needs the number of nodes and at least one skip (got {n} alone), such as 13 5 3")
    panels = []
    for graph in colour_csl(n, skips, root):
        state = "unmarked" if graph.root == UNMARKED else f"node {graph.root} marked"
        sizes = "{" + ", ".join(map(str, graph.class_sizes)) + "}"
        say(f"{graph.name}, {state}: classes of {sizes} nodes")
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
    say(str(draw_panels(panels, output, columns=len(skips))))


@verb("theory learn")
def learn(
    *,
    config: Annotated[LearningConfig | None, Parameter(name="*")] = None,
    methods: Words = (),
    seeds: int = 5,
    output: OutputFile = Path("results/theory"),
    figure: Path | None = None,
    markdown: Flag = False,
) -> None:
    """Train policies from scratch on fresh random (n, l)-CSL graphs with T = l, and test on unseen ones.

    Runs that already have a record are skipped.

    Args:
        config: of each run.
        methods: how nodes are picked, one or several; all by default.
        seeds: how many runs of each method, with seeds 0, 1, ...
        output: folder of the records.
        figure: draw the curves of all runs to this PNG.
        markdown: print the table as Markdown, as in the documentation.
    """
    from rich.console import Console

    from lab.theory import run_all
    from policylearn.cli.progress import add_bar, progress_bars

    if seeds < 1:
        raise ValueError(f"'seeds' must be >= 1 (got {seeds})")
    base = config or LearningConfig()
    configs = [replace(base, method=method, seed=seed) for method in methods or METHODS for seed in range(seeds)]
    with progress_bars(Console(stderr=True), transient=True) as progress:
        bar = add_bar(progress, "", len(configs) * base.steps)

        def report(current: LearningConfig, step: int, loss: float, newest: Any) -> None:
            scores = "" if newest is None else f" accuracy {newest.accuracy:.1%} coverage {newest.coverage:.1%}"
            progress.update(
                bar,
                completed=configs.index(current) * base.steps + step,
                description=f"{current.method} seed {current.seed}",
                figures=f"loss {loss:.3f}{scores}",
            )

        records = run_all(configs, output, report)
    show(records, figure, markdown=markdown)


@verb("theory results")
def results(folder: Path = Path("results/theory"), /, *, figure: Path | None = None, markdown: Flag = False) -> None:
    """Show the table of what 'theory learn' trained.

    Args:
        folder: of the records.
        figure: draw the curves of all runs to this PNG.
        markdown: print the table as Markdown, as in the documentation.
    """
    from lab.theory import load_records

    show(load_records(folder), figure, markdown=markdown)


@verb("theory systems")
def systems(
    *,
    only: Words = (),
    graphs: Words = ("sr25", "csl", "exp"),
    pairs: int = 30,
    seeds: int = 3,
    layers: int = 6,
    channels: int = 8,
    markdown: Flag = False,
    output: OutputFile = Path("results/theory/systems"),
) -> int:
    """Ask which graphs of SR25, CSL and EXP each published system distinguishes, without training.

    Each system gets random weights, in double precision and in evaluation mode. Two graphs are distinguished where its
    outputs differ by far more than between a graph and itself in another order of nodes. What is proven stands in
    brackets; 1 where something contradicts it. What has a record already is not measured again.

    Args:
        only: names of systems; none means all.
        graphs: which families.
        pairs: of EXP's 600, spread over all of them.
        seeds: how often weights are drawn.
        layers: of each network.
        channels: of each network.
        markdown: the table as it stands in the documentation.
        output: folder of the records.
    """
    from rich.console import Console

    from lab.theory.systems import HEADINGS, ExpressivityConfig, all_configs, expressivity_rows, measure_all
    from policylearn.cli.progress import add_bar, progress_bars

    for name, value in {"pairs": pairs, "seeds": seeds, "layers": layers, "channels": channels}.items():
        if value < 1:
            raise ValueError(f"'{name}' must be >= 1 (got {value})")
    configs = all_configs(list(only), list(graphs), pairs=pairs, seeds=seeds, layers=layers, channels=channels)
    with progress_bars(Console(stderr=True), transient=True) as progress:
        bar = add_bar(progress, "", 1.0)

        def tell(config: ExpressivityConfig, share: float) -> None:
            progress.update(bar, description=f"{config.subject} on {config.family}", completed=share)

        records = measure_all(configs, output, tell)
    print_rows("pairs of graphs distinguished (proven)", HEADINGS, expressivity_rows(records), markdown=markdown)
    return int(not all(record.agrees for record in records))


def print_rows(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], *, markdown: bool) -> None:
    """A table for the terminal, or for a page."""
    from rich.table import Table

    from policylearn.wording import markdown_table

    if markdown:
        say(markdown_table(headings, rows))
        return
    table = Table(*headings, title=title)
    for row in rows:
        table.add_row(*row)
    print_table(table, 180)


def show(records: list[LearningRecord], figure: Path | None, *, markdown: bool) -> None:
    """Print the table and draw the figure: accuracy and both coverages over the steps, a colour per method."""
    from lab.theory import HEADINGS, learning_rows, runs_of
    from policylearn.explain import Chart, draw_charts

    print_rows("(n, l)-CSL graphs, T picks", HEADINGS, learning_rows(records), markdown=markdown)
    if figure is None:
        return
    families = sorted({(record.config.n, record.config.components) for record in records})
    if len(families) > 1:
        raise ValueError(
            f"the runs are on {len(families)} families, {families}; keep a folder each, and draw one at a time"
        )
    titles = {"accuracy": "test accuracy", "coverage": "coverage, argmax", "sampled_coverage": "coverage, sampled"}
    charts = []
    for name, title in titles.items():
        curves: dict[str, list[list[tuple[float, float]]]] = {
            method: [[(point.step, getattr(point, name)) for point in run.curve] for run in runs]
            for (_, _, method), runs in runs_of(records).items()
        }
        charts.append(Chart(title, curves))
    draw_charts(charts, figure)
