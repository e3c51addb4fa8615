"""``python -m lab bench``: how fast it is here, against plain PyTorch and against the usual way to write it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from lab.verbs import verb
from policylearn.cli.options import Flag, GivenWords, Words
from policylearn.cli.printing import say, warn

BUSY = 0.5


@verb("bench")
def bench(
    *,
    quick: Flag = False,
    systems: Flag = False,
    datasets: Words = (),
    cases: Words = (),
    rounds: int | None = None,
    threads: int | None = None,
    layers: int = 6,
    channels: int = 64,
    batch_size: int | None = None,
    no_memory: Flag = False,
    output: Annotated[Path, Parameter(alias="-o")] = Path("bench"),
    words: GivenWords = (),
) -> int:
    """Time training steps and inference on real batches; print tables and write a JSON. Run it on an idle machine.

    Our model takes turns with the same model in plain PyTorch and with the method as it is usually written, with every
    marked copy a graph of its own. Peak memory is measured too.

    Args:
        quick: ZINC alone, few rounds, no memory; three minutes on two cores.
        systems: measure instead what every system costs beside the policies; on ZINC by default.
        datasets: zinc, ogbg-molhiv and reddit-binary by default.
        cases: such as learned-t2 or full; with --systems also names of systems. All by default.
        rounds: how often each is timed.
        threads: of torch and of our own kernels.
        layers: of both networks; a system has its own.
        channels: of both networks; a system has its own.
        batch_size: graphs of a batch.
        no_memory: do not measure peak memory.
        output: folder of the JSON.
        words: what was typed.
    """
    from rich.console import Console

    from lab.bench.run import QUICK_CASES, BenchSettings, run_bench
    from lab.bench.tables import report_markdown
    from policylearn.cli.printing import add_bar, progress_bars
    from policylearn.data.atomic import write_text

    small: dict[str, Any] = {"datasets": ("zinc",), "rounds": 2}
    small |= {"memory": False} | ({} if systems else {"cases": QUICK_CASES})
    given = {
        "datasets": datasets or (("zinc",) if systems else ()),
        "cases": cases,
        "rounds": rounds,
        "threads": threads,
        "batch_size": batch_size,
    }
    known = (small if quick else {}) | {name: value for name, value in given.items() if value not in ((), None)}
    known |= {"memory": False} if no_memory else {}
    settings = BenchSettings(systems=systems, layers=layers, channels=channels, **known)
    console = Console(stderr=True)
    if os.getloadavg()[0] > BUSY:
        load = f"{os.getloadavg()[0]:.1f}"
        warn(f"the machine is busy (load {load}): ratios can still be compared, times cannot", console)
    with progress_bars(console) as progress:
        bar = add_bar(progress, "measuring", 1.0)
        command = f"python -m lab {shlex.join(words)}"
        record = run_bench(settings, command, lambda title, done: progress.update(bar, figures=title, completed=done))
    path = output / f"{'systems' if systems else 'bench-quick' if quick else 'bench'}.json"
    write_text(path, record.to_json())
    say(f"{report_markdown(record)}\n\n{path}")
    return 0
