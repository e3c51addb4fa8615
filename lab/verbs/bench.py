"""``python -m lab bench``: how fast it is here, against the usual way to write it and against the machine's limit."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from policylearn.cli.command import Command, Parser
from policylearn.cli.printing import print_table, say, warn

if TYPE_CHECKING:
    from rich.console import Console

    from lab.bench import BenchReport, Settings, SystemSettings

HELP = "measure speed and memory here, against replicated edges and against the machine's limit"
ABOUT = (
    "Time training steps and inference on real batches, turn by turn against (a) the same method with every marked copy"
    " written out as a graph of its own and (b) the matrix multiplications of our own passes alone; measure peak memory"
    " and how the cost grows with the graph. Prints tables and writes a JSON and a picture. Run it on an idle machine."
)
QUICK_ROUNDS, QUICK_NODES, QUICK_FAMILIES = 2, 10**5, ("grid",)
BUSY = 0.5


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "--quick", action="store_true", help="ZINC alone, few rounds, graphs up to 10^5 nodes: two minutes on two cores"
    )
    parser.add_argument(
        "--ablation",
        action="store_true",
        help="measure instead what each part of the acceleration is worth, on the first of the datasets",
    )
    parser.add_argument(
        "--systems",
        action="store_true",
        help="measure instead what every system costs beside the policies, on the first of the datasets (ZINC), each"
        " with its published settings and all with the same batch",
    )
    parser.add_argument("--json", action="store_true", help="print the record as JSON instead of tables")
    parser.add_argument(
        "--datasets", type=str, nargs="+", default=[], help="(default: zinc, ogbg-molhiv and reddit-binary)"
    )
    parser.add_argument(
        "--cases", type=str, nargs="+", default=[],
        help="of learned-t2, learned-t5, learned-t8, random-t2, full and none; with --systems also names of systems"
        " (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=int | None, default=None, help="how often each is timed (default: 7, quick: 2, systems: 5)"
    )
    parser.add_argument(
        "--threads", type=int | None, default=None, help="(default: 2, or the number of cores if less; systems: 1)"
    )
    parser.add_argument("--layers", type=int, default=6, help="of both networks; a system has its own")
    parser.add_argument("--channels", type=int, default=64, help="of both networks; a system has its own")
    parser.add_argument(
        "--batch-size", type=int | None, default=None, help="graphs of a batch (default: 128, reddit-binary 32)"
    )
    parser.add_argument(
        "--growth-nodes", type=int | None, default=None, help="largest graph; 0: none (default: 10^6, quick: 10^5)"
    )
    parser.add_argument("--no-memory", action="store_true", help="do not measure peak memory")
    parser.add_argument(
        "--against", type=Path | None, default=None,
        help="a record whose ratios are compared with the new ones (default: the one that is replaced, if any)",
    )  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, default=Path("bench"), help="folder of bench.json and bench.png")


def run(options: Namespace) -> int:
    """Measure under a progress bar, write the record and its picture, print one of its forms."""
    import sys

    from rich.console import Console

    from lab.bench import draw_report, make_tables
    from policylearn.data.atomic import write_text

    if options.ablation and options.systems:
        raise ValueError("--ablation and --systems are two measurements; ask for one of them")
    settings = system_settings_of(options) if options.systems else settings_of(options)
    beside = Console(stderr=True)
    if os.getloadavg()[0] > BUSY:
        load = f"{os.getloadavg()[0]:.1f}"
        warn(f"the machine is busy (load {load}): ratios can still be compared, times cannot", beside)
    command = f"python -m lab bench {shlex.join(options.words)}".strip()
    quick = "bench-quick" if options.quick else "bench"
    name = "ablation" if options.ablation else "systems" if options.systems else quick
    written = [options.output / f"{name}.json"]
    last = last_record(options.against, written[0]) if name == quick else None
    report = measure(settings, command, beside, ablation=options.ablation)
    write_text(written[0], report.to_json())
    if name == quick:
        written.append(options.output / f"{name}.png")
        draw_report(report, written[1])
    if options.json:
        sys.stdout.write(report.to_json())
        return 0
    for table in make_tables(report):
        print_table(table, 200)
    for path in written:
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
    if not falls:
        say(f"none of {shared} ratios fell by more than {ALLOWED:.0%} {since}")
        return
    say(f"{len(falls)} of {shared} ratios fell by more than {ALLOWED:.0%} {since}:")
    for fall in falls:
        say(f"  {fall}")


def settings_of(options: Namespace) -> Settings:
    """What the options ask for."""
    from lab.bench import ABLATION_CASES, QUICK_CASES, Settings

    usual = Settings()
    nodes = QUICK_NODES if options.quick else usual.growth_nodes
    return Settings(
        datasets=tuple(options.datasets) or (("zinc",) if options.quick else usual.datasets),
        cases=tuple(options.cases)
        or (ABLATION_CASES if options.ablation else QUICK_CASES if options.quick else usual.cases),
        rounds=options.rounds if options.rounds is not None else QUICK_ROUNDS if options.quick else usual.rounds,
        threads=usual.threads if options.threads is None else options.threads,
        layers=options.layers,
        channels=options.channels,
        batch_size=options.batch_size,
        growth_nodes=nodes if options.growth_nodes is None else options.growth_nodes,
        families=QUICK_FAMILIES if options.quick else usual.families,
        memory=not options.no_memory,
        quick=options.quick,
    )


def system_settings_of(options: Namespace) -> SystemSettings:
    """What the options ask for of the systems."""
    from lab.bench import SystemSettings

    usual = SystemSettings()
    return SystemSettings(
        dataset=next(iter(options.datasets), usual.dataset),
        names=tuple(options.cases),
        rounds=options.rounds if options.rounds is not None else QUICK_ROUNDS if options.quick else usual.rounds,
        threads=usual.threads if options.threads is None else options.threads,
        batch_size=options.batch_size,
        memory=not options.no_memory,
    )


def measure(settings: Settings | SystemSettings, command: str, console: Console, *, ablation: bool) -> BenchReport:
    """Run the benchmark, the ablation or the table of systems, under a bar over all of its steps."""
    from lab.bench import SystemSettings, run_ablation, run_bench, run_systems
    from policylearn.cli.progress import add_bar, progress_bars

    with progress_bars(console) as progress:
        bar = add_bar(progress, "measuring", 0)

        def tell(title: str, steps: int) -> None:
            progress.update(bar, figures=title, advance=steps)

        def expect(steps: int) -> None:
            progress.update(bar, total=(progress.tasks[0].total or 0) + steps)

        if isinstance(settings, SystemSettings):
            return run_systems(settings, command, tell, expect)
        return (run_ablation if ablation else run_bench)(settings, command, tell, expect)


COMMAND = Command("bench", HELP, add_options, run, about=ABOUT)
