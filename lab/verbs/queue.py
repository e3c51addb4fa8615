"""``python -m lab queue``: how far a list of commands is, in one line."""

from __future__ import annotations

import shlex
from pathlib import Path
from statistics import fmean

from cyclopts import App

from lab.ledger import read_content
from lab.reproduce.plan import plan
from lab.reproduce.records import RUNS
from lab.reproduce.tables import TABLES
from lab.reproduce.unfinished import UNFINISHED, begun_runs, keep_unfinished
from lab.reproduce.wish import Wish
from lab.settings import open_ledger
from lab.verbs import VERBS, verb
from lab.verbs.reproduce import find_table
from policylearn.cli.main import make_app
from policylearn.cli.options import Flag
from policylearn.cli.printing import say

VERB = "reproduce"
IDLE_MINUTES = 10.0
"""A run that has written nothing for longer than this, and than five of its epochs, is not running."""


@verb("queue")
def queue(
    file: Path = Path(__file__).parents[1] / "queues" / "paper.txt",
    /,
    *,
    results: Path = Path("results"),
    keep: Flag = False,
) -> None:
    """Say how many commands of a queue are done, the hours of all its records, and how far runs are that have begun.

    A command is done when FILE.done holds it, or when all of its records exist.

    Args:
        file: a 'python -m lab reproduce' per line; lines that begin with # are notes.
        results: the folder of the records.
        keep: copy the newest checkpoint of each unfinished run to 'unfinished' below the results, small enough to be
            committed; 'reproduce' continues from there on another machine.
    """
    lines = [
        words_of(line) for line in file.read_text(encoding="utf-8").splitlines() if VERB in line and line[0] != "#"
    ]
    log = file.with_name(f"{file.name}.done")
    ended = [words_of(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    app = make_app("lab", "", VERBS)
    found = [records_of(app, words, results) for words in lines]
    left = [one for words, one in zip(lines, found, strict=True) if words not in ended and not all(one.values())]
    records = {record for one in found for record in one.values() if record is not None}
    hours = sum(read_content(record)["seconds"] for record in records) / 3600
    running, stopped = begun(results)
    parts = [f"{len(lines) - len(left)} of {len(lines)} done", f"records of {hours:.1f} h"]
    parts += [*running.values()] or ["none running"]
    say("; ".join([*parts, *stopped, f"{sum(not one.keys() & running.keys() for one in left)} waiting"]))
    for copy in keep_unfinished(results) if keep else ():
        size = sum(path.stat().st_size for path in copy.iterdir())
        say(f"{copy}: {size / 1e6:.2f} MB")


def words_of(line: str) -> list[str]:
    """The words of a command behind its verb, whatever program it is given to."""
    words = shlex.split(line)
    return words[words.index(VERB) + 1 :] if VERB in words else words


def records_of(app: App, words: list[str], results: Path) -> dict[str, Path | None]:
    """The runs of a command by name, each with its record, None for those that are not done."""
    _, bound, _ = app.parse_args([VERB, *words], exit_on_error=False, print_error=False)
    ledger = open_ledger(results)
    jobs = plan(find_table(bound.args[0], TABLES), bound.kwargs.get("wish") or Wish())
    return {job.record: ledger.find(job) for job in jobs}


def begun(results: Path) -> tuple[dict[str, str], list[str]]:
    """What to say of the runs that are being trained, by name, and of the other unfinished ones."""
    here = {run.name: run for run in begun_runs(results, RUNS)}
    left = {run.name: run for run in begun_runs(results, UNFINISHED)} | here
    running = {}
    for run in here.values():
        if run.idle_minutes <= max(IDLE_MINUTES, 5 * run.seconds[-1] / 60):
            del left[run.name]
            minutes = (run.epochs - len(run.seconds)) * fmean(run.seconds[-10:]) / 60
            running[run.name] = f"running {run}, {minutes:.0f} min left, last epoch {run.idle_minutes:.0f} min ago"
    return running, [f"unfinished {run}" for run in sorted(left.values(), key=lambda run: run.name not in here)]
