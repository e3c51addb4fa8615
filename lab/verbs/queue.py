"""``python -m lab queue``: how far a list of commands is, in one line."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

from cyclopts import App

from lab.verbs import VERBS, verb
from policylearn.cli.main import make_app
from policylearn.cli.printing import say

VERB = "reproduce"


@verb("queue")
def queue(
    file: Path = Path(__file__).parents[1] / "queues" / "paper.txt", /, *, results: Path = Path("results")
) -> None:
    """Say how many commands of a queue are done and waiting, and how far the newest run is.

    A command is done when FILE.done holds it, or when all of its records exist.

    Args:
        file: a 'python -m lab reproduce' per line; lines that begin with # are notes.
        results: the folder of the records.
    """
    lines = [
        words_of(line) for line in file.read_text(encoding="utf-8").splitlines() if VERB in line and line[0] != "#"
    ]
    log = file.with_name(f"{file.name}.done")
    ended = [words_of(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    app = make_app("lab", "", VERBS)
    done = sum(words in ended or has_records(app, words, results) for words in lines)
    running = newest_run(results)
    waiting = len(lines) - done - (running is not None)
    say(f"{done} of {len(lines)} done; {running or 'none running'}; {waiting} waiting")


def words_of(line: str) -> list[str]:
    """The words of a command behind its verb, whatever program it is given to."""
    words = shlex.split(line)
    return words[words.index(VERB) + 1 :] if VERB in words else words


def has_records(app: App, words: list[str], results: Path) -> bool:
    """Whether every run of a command has its record."""
    from lab.reproduce import TABLES, open_ledger, plan
    from lab.verbs.reproduce import find_table, wish_of

    _, bound, _ = app.parse_args([VERB, *words], exit_on_error=False, print_error=False)
    ledger = open_ledger(results)
    jobs = plan(find_table(bound.args[0], TABLES), wish_of(**bound.kwargs))
    return all(ledger.find(job) is not None for job in jobs)


def newest_run(results: Path) -> str | None:
    """The unfinished run that was last written to, with its epoch and the time that is left; None without one."""
    from policylearn.settings.run_config import read_yaml
    from policylearn.settings.run_files import CONFIG, HISTORY, METRICS
    from policylearn.training.folds import read_history

    begun = [path for path in results.glob(f"runs/**/{HISTORY}") if not path.with_name(METRICS).exists()]
    if not begun:
        return None
    newest = max(begun, key=lambda path: path.stat().st_mtime)
    seconds = read_history(newest)["seconds"]
    epochs = int(read_yaml(newest.with_name(CONFIG))["fit"]["epochs"])
    left = (epochs - len(seconds)) * sum(seconds[-10:]) / len(seconds[-10:]) / 60
    idle = (time.time() - newest.stat().st_mtime) / 60
    name = newest.parent.relative_to(results / "runs")
    return f"running {name}: epoch {len(seconds)} of {epochs}, {left:.0f} min left, last epoch {idle:.0f} min ago"
