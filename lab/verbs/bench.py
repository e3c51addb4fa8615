"""``python -m lab bench``: how fast it is here, against plain PyTorch and against the usual way to write it."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from lab.verbs import verb
from policylearn.cli.options import Flag, GivenWords, Words
from policylearn.cli.printing import print_table, say, warn

if TYPE_CHECKING:
    from rich.console import Console

    from lab.bench import BenchReport, BenchSettings, SystemSettings

QUICK_ROUNDS, QUICK_NODES, QUICK_FAMILIES = 2, 10**5, ("grid",)
BUSY = 0.5


@verb("bench")
def bench(
    *,
    quick: Flag = False,
    systems: Flag = False,
    json: Flag = False,
    datasets: Words = (),
    cases: Words = (),
    rounds: int | None = None,
    threads: int | None = None,
    layers: int = 6,
    channels: int = 64,
    batch_size: int | None = None,
    growth_nodes: int | None = None,
    no_memory: Flag = False,
    against: Path | None = None,
    output: Annotated[Path, Parameter(alias="-o")] = Path("bench"),
    words: GivenWords = (),
) -> int:
    """Time training steps and inference on real batches; print tables and write a JSON. Run it on an idle machine.

    Our model takes turns with the same model in plain PyTorch and with the method as it is usually written, with every
    marked copy a graph of its own. Peak memory is measured too, and how the cost grows with the graph.

    Args:
        quick: ZINC alone, few rounds, graphs up to 10^5 nodes; two minutes on two cores.
        systems: measure instead what every system costs beside the policies, on the first of the datasets (ZINC).
        json: print the record as JSON instead of tables.
        datasets: zinc, ogbg-molhiv and reddit-binary by default.
        cases: such as learned-t2 or full; with --systems also names of systems. All by default.
        rounds: how often each is timed.
        threads: of torch and of our own kernels.
        layers: of both networks; a system has its own.
        channels: of both networks; a system has its own.
        batch_size: graphs of a batch.
        growth_nodes: the largest graph; 0 for none.
        no_memory: do not measure peak memory.
        against: a record whose ratios are compared with the new ones; by default the one that is replaced.
        output: folder of the JSON.
        words: what was typed.
    """
    from rich.console import Console

    from lab.bench import QUICK_CASES, BenchSettings, SystemSettings, make_tables
    from policylearn.data.atomic import write_text

    given: dict[str, Any] = {"rounds": QUICK_ROUNDS if rounds is None and quick else rounds, "threads": threads}
    given |= {"growth_nodes": QUICK_NODES if growth_nodes is None and quick else growth_nodes}
    known = {name: value for name, value in given.items() if value is not None}
    settings: BenchSettings | SystemSettings
    if systems:
        known.pop("growth_nodes", None)
        dataset = datasets[0] if datasets else SystemSettings.dataset
        settings = SystemSettings(dataset, cases, batch_size=batch_size, memory=not no_memory, **known)
    else:
        settings = BenchSettings(
            datasets=datasets or (("zinc",) if quick else BenchSettings.datasets),
            cases=cases or (QUICK_CASES if quick else BenchSettings.cases),
            layers=layers,
            channels=channels,
            batch_size=batch_size,
            families=QUICK_FAMILIES if quick else BenchSettings.families,
            memory=not no_memory,
            quick=quick,
            **known,
        )
    console = Console(stderr=True)
    if os.getloadavg()[0] > BUSY:
        load = f"{os.getloadavg()[0]:.1f}"
        warn(f"the machine is busy (load {load}): ratios can still be compared, times cannot", console)
    path = output / f"{'systems' if systems else 'bench-quick' if quick else 'bench'}.json"
    last = None if systems else last_record(against, path)
    report = measure(settings, f"python -m lab {shlex.join(words)}", console)
    write_text(path, report.to_json())
    if json:
        sys.stdout.write(report.to_json())
        return 0
    for table in make_tables(report):
        print_table(table, 200)
    say(str(path))
    if last is not None:
        say_falls(report, last)
    return 0


def last_record(named: Path | None, replaced: Path) -> BenchReport | None:
    """The record to compare with, read before anything is measured; None where there is none."""
    from lab.bench import BenchReport

    path = named or replaced
    if not path.exists():
        if named is not None:
            raise ValueError(f"--against {named}: there is no such record; run 'python -m lab bench -o FOLDER' first")
        return None
    return BenchReport.from_json(path.read_text(encoding="utf-8"))


def say_falls(report: BenchReport, last: BenchReport) -> None:
    """Say which ratios fell since the last record."""
    from lab.bench import ALLOWED, find_falls, speed_ratios

    now, before = speed_ratios(report), speed_ratios(last)
    falls = find_falls(now, before)
    shared = len(now.keys() & before.keys())
    since = f"since the record of {last.date} (commit {last.commit})"
    say(f"{len(falls)} of {shared} ratios fell by more than {ALLOWED:.0%} {since}")
    for fall in falls:
        say(f"  {fall}")


def measure(settings: BenchSettings | SystemSettings, command: str, console: Console) -> BenchReport:
    """Run the benchmark or the table of systems, under a bar over all of its steps."""
    from lab.bench import SystemSettings, run_bench, run_systems
    from policylearn.cli.progress import add_bar, progress_bars

    with progress_bars(console) as progress:
        bar = add_bar(progress, "measuring", 0)

        def tell(title: str, steps: int) -> None:
            progress.update(bar, figures=title, advance=steps)

        def expect(steps: int) -> None:
            progress.update(bar, total=(progress.tasks[0].total or 0) + steps)

        if isinstance(settings, SystemSettings):
            return run_systems(settings, command, tell, expect)
        return run_bench(settings, command, tell, expect)
