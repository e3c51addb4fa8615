"""``python -m lab theory``: the paper's statements, checked, its first figure, drawn, and its policies, trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from lab.pictures import Panel, draw_panels
from lab.settings import look_up
from lab.theory.checks import CHECKS, check_table
from lab.theory.checks.record import braces
from lab.theory.curves import draw_curves
from lab.theory.records import LearningRecord, learning_table, load_records, run_all
from lab.theory.systems.families import FAMILIES
from lab.theory.systems.measure import all_configs
from lab.theory.systems.records import expressivity_table, measure_all
from lab.theory.wl import UNMARKED, marked_copies, refine
from lab.verbs import verb
from policylearn.cli.options import Numbers, OutputPath, Words
from policylearn.cli.printing import say
from policylearn.data.synthetic import csl_edges, csl_graph, join
from policylearn.demo.learning import METHODS, LearningConfig


@verb("theory check")
def check(*, only: Words = ()) -> int:
    """Run every check of the paper's statements, or some, and print their table; 1 if one fails.

    Args:
        only: names of checks; none means all.
    """
    chosen = [look_up("check", name, CHECKS) for name in only or CHECKS]
    found = [measure() for measure in chosen]
    say(check_table(found))
    return int(any(one.holds is False for one in found))


@verb("theory wl")
def draw_colours(*, csl: Numbers = (13, 5, 3), root: int = 0, output: OutputPath = Path("figure1.png")) -> None:
    """Colour CSL graphs by 1-WL, all unmarked first, then all with one mark, and draw them: the paper's first figure.

    Args:
        csl: nodes, then the skip of each graph.
        root: which node to mark.
        output: the PNG.
    """
    n, *skips = csl
    if not skips:
        raise ValueError(f"'--csl' needs the number of nodes and at least one skip (got {n} alone), such as 13 5 3")
    graphs, roots = join([csl_graph(n, skip) for skip in skips]), [UNMARKED] * len(skips) + [root] * len(skips)
    colouring = refine(*marked_copies(graphs, [*range(len(skips))] * 2, roots))
    panels = []
    for copy, (skip, marked) in enumerate(zip(skips * 2, roots, strict=True)):
        title = f"CSL({n}, {skip}), {'unmarked' if marked == UNMARKED else f'node {marked} marked'}"
        sizes = braces(colouring.class_sizes(copy))
        say(f"{title}: classes of {sizes} nodes")
        panels.append(
            Panel(
                edges=csl_edges(n, skip),
                num_nodes=n,
                title=f"{title}\n{sizes}",
                classes=colouring.of(copy).tolist(),
                marks={} if marked == UNMARKED else {marked: "x"},
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
    output: OutputPath = Path("results/theory"),
    figure: Path | None = None,
) -> None:
    """Train policies from scratch on fresh random (n, l)-CSL graphs with T = l, and test on unseen ones.

    Runs that already have a record are skipped.

    Args:
        config: of each run.
        methods: how nodes are picked, one or several; all by default.
        seeds: how many runs of each method, with seeds 0, 1, ...
        output: folder of the records.
        figure: draw the curves of all runs to this PNG.
    """
    if seeds < 1:
        raise ValueError(f"'seeds' must be >= 1 (got {seeds})")
    base, console = config or LearningConfig(), Console(stderr=True)
    configs = [replace(base, method=method, seed=seed) for method in methods or METHODS for seed in range(seeds)]
    show(run_all(configs, output, lambda done: say(f"{done.method} seed {done.seed}: done", console)), figure)


@verb("theory results")
def results(folder: Path = Path("results/theory"), /, *, figure: Path | None = None) -> None:
    """Show the table of what 'theory learn' trained.

    Args:
        folder: of the records.
        figure: draw the curves of all runs to this PNG.
    """
    show(load_records(folder), figure)


@verb("theory systems")
def systems(
    *,
    only: Words = (),
    graphs: Words = FAMILIES,
    output: OutputPath = Path("results/theory/systems"),
) -> int:
    """Ask which graphs of SR25, CSL and EXP each published system distinguishes, without training.

    Each system gets random weights, in double precision and in evaluation mode. Two graphs are distinguished where its
    outputs differ by far more than between a graph and itself in another order of nodes. What is proven stands in
    brackets; 1 where something contradicts it. What has a record already is not measured again.

    Args:
        only: names of systems; none means all.
        graphs: which families.
        output: folder of the records.
    """
    console = Console(stderr=True)
    configs = all_configs(only, graphs)
    records = measure_all(configs, output, lambda done: say(f"{done.subject} on {done.family}: done", console))
    say(expressivity_table(records))
    return int(not all(record.agrees for record in records))


def show(records: list[LearningRecord], figure: Path | None) -> None:
    """Print the table, and draw the curves where a figure is wanted."""
    say(learning_table(records))
    if figure is not None:
        draw_curves(records, figure)
