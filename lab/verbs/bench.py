"""``python -m lab bench``: how fast it is here, against plain PyTorch and against the usual way to write it."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from lab.bench.run import QUICK_CASES, BenchSettings, run_bench
from lab.bench.tables import report_markdown
from lab.verbs import verb
from policylearn.cli.options import Flag, GivenWords, OutputPath
from policylearn.cli.printing import add_bar, progress_bars, say, warn
from policylearn.data.atomic import write_text

BUSY = 0.5


@verb("bench")
def bench(
    *,
    of_run: BenchSettings | None = None,
    quick: Flag = False,
    output: OutputPath = Path("bench"),
    words: GivenWords = (),
) -> int:
    """Time training steps and inference on real batches; print tables and write a JSON. Run it on an idle machine.

    Our model takes turns with the same model in plain PyTorch and with the method as it is usually written, with every
    marked copy a graph of its own. Peak memory is measured too.

    Args:
        of_run: what is measured, and how.
        quick: fewer cases, at most two rounds, no memory; three minutes on two cores.
        output: folder of the JSON.
        words: what was typed.
    """
    settings = of_run or BenchSettings()
    if quick:
        settings = replace(settings, cases=settings.cases or QUICK_CASES, rounds=min(settings.rounds, 2), memory=False)
    console = Console(stderr=True)
    if os.getloadavg()[0] > BUSY:
        load = f"{os.getloadavg()[0]:.1f}"
        warn(f"the machine is busy (load {load}): ratios can still be compared, times cannot", console)
    with progress_bars(console) as progress:
        bar = add_bar(progress, "measuring", 1.0)
        command = f"python -m lab {shlex.join(words)}"
        record = run_bench(settings, command, lambda title, done: progress.update(bar, figures=title, completed=done))
    path = output / ("bench-quick.json" if quick else "bench.json")
    write_text(path, record.to_json())
    say(f"{report_markdown(record)}\n\n{path}")
    return 0
