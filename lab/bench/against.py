"""Two checkouts against each other, turn by turn in one run.

``python -m lab.bench.against OLD NEW`` starts a `lab.bench.worker` of each checkout per case. The two take turns, so
that a busy machine slows both alike; the time for which a step keeps processors busy stands beside the time that
passes, since others that run do not add to it. What is installed besides must serve both checkouts.

With ``--keep`` the record goes to results/bench.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cyclopts

from lab.bench.record import paired_ratio
from lab.bench.steps import CASES, PHASES, StepSpec
from lab.bench.tables import WORDS
from lab.bench.worker import Worker
from lab.provenance import RESULTS
from lab.settings import look_up
from policylearn.cli.options import Flag, Words
from policylearn.wording import markdown_table

USUAL = ("learned-t2", "learned-t5", "random-t2", "full")


def variables(checkout: Path) -> dict[str, str]:
    """The environment of a process which imports the package and the lab of a checkout."""
    if not (checkout / "lab" / "bench" / "worker.py").is_file():
        raise SystemExit(f"{checkout}: there is no lab/bench/worker.py; name a newer checkout")
    return {"PYTHONPATH": f"{checkout.resolve() / 'src'}:{checkout.resolve()}", "PYTHONSAFEPATH": "1"}


def compare(checkouts: dict[str, Path], spec: StepSpec) -> dict[str, Any]:
    """The milliseconds of both checkouts in one case and phase, and their ratios."""
    ms: dict[str, list[float]] = {name: [] for name in checkouts}
    busy_ms: dict[str, list[float]] = {name: [] for name in checkouts}
    with ExitStack() as stack:
        workers = {
            name: stack.enter_context(Worker(spec, variables=variables(path))) for name, path in checkouts.items()
        }
        for worker in workers.values():
            worker.answer()
        for turn in range(spec.rounds):
            for name in list(workers) if turn % 2 else list(reversed(workers)):
                clock, processor = workers[name].ask(turn)
                ms[name].append(clock)
                busy_ms[name].append(processor)
    ratios = {"clock": paired_ratio(ms["old"], ms["new"]), "processor": paired_ratio(busy_ms["old"], busy_ms["new"])}
    medians = "  ".join(f"{name} {statistics.median(values):8.1f} ms" for name, values in ms.items())
    told = ", ".join(f"{value:.3f} ({name})" for name, value in ratios.items())
    print(f"{spec.phase:5} {spec.case:10}  {medians}  old over new: {told}", flush=True)
    return {"case": spec.case, "phase": spec.phase, "old_over_new": ratios, "ms": ms, "busy_ms": busy_ms}


def revision(checkout: Path) -> str:
    """The commit of a checkout."""
    words = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def table(record: dict[str, Any]) -> str:
    """The record as the page holds it."""
    rows = []
    for case in record["cases"]:
        old, new = (f"{statistics.median(case['busy_ms'][name]):.0f} ms" for name in ("old", "new"))
        rows.append((f"{WORDS[case['phase']]}, {case['case']}", old, new, f"{case['old_over_new']['processor']:.2f}"))
    for name, (before, now) in record.get("seconds", {}).items():  # kept by earlier versions
        rows.append((name, f"{before:.2f} s", f"{now:.2f} s", f"{before / now:.2f}"))
    told = ", ".join(f"{name} {value}" for name, value in record["settings"].items())
    where = f"Processor time, median of the rounds; old is {record['old']}, new is {record['new']}; {told}."
    return f"{markdown_table(('what', 'old', 'new', 'old over new'), rows)}\n\n{where}"


def main(
    old: Path,
    new: Path,
    *,
    dataset: str = "zinc",
    cases: Words = USUAL,
    rounds: int = 15,
    batch_size: int = 128,
    layers: int = 6,
    channels: int = 64,
    threads: int = 2,
    keep: Flag = False,
) -> None:
    """Compare two checkouts.

    Args:
        old: checkout to compare with.
        new: checkout to look at.
        dataset: of graphs.
        cases: of the benchmark.
        rounds: how often each is timed.
        batch_size: graphs of a batch.
        layers: of both networks.
        channels: of both networks.
        threads: of each process.
        keep: keep the record as results/bench/against.json.
    """
    for case in cases:
        look_up("case", case, CASES)
    before = os.getloadavg()[0]
    settings: dict[str, Any] = {"dataset": dataset, "rounds": rounds, "batch_size": batch_size, "layers": layers}
    settings |= {"channels": channels, "threads": threads}
    specs = [StepSpec(case=case, contender="ours", phase=phase, **settings) for phase in PHASES for case in cases]
    found = [compare({"old": old, "new": new}, one) for one in specs]
    load = [before, os.getloadavg()[0]]
    print(f"load {load[0]:.1f} before, {load[1]:.1f} after")
    if keep:
        names = {"old": revision(old), "new": revision(new)}
        record = names | {"settings": settings, "load": load, "cases": found}
        (RESULTS / "against.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    cyclopts.run(main)
