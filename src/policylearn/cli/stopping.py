"""Signals to stop, answered with what was kept and how to continue, and with an exit code that says so."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StoppedError(BaseException):
    """A signal to stop, by its number; no handler of errors holds it up."""


@contextmanager
def stop_signals(say_kept: Callable[[], str]) -> Iterator[None]:
    """Answer SIGINT and SIGTERM within a block by a line on stderr and the exit code of the signal.

    Args:
        say_kept: says what was kept and how to continue; called once everything has been cleared up.
    """
    owner = os.getpid()

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:  # a helper process, which was born with this handler, ends without a word
            raise SystemExit(128 + number)
        raise StoppedError(number)

    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as for a command that a shell started in the background
            signal.signal(number, stop)
    try:
        yield
    except (StoppedError, KeyboardInterrupt) as error:
        received = signal.Signals(error.args[0] if isinstance(error, StoppedError) else signal.SIGINT)
        sys.stderr.write(f"stopped by {received.name}: {say_kept()}\n")
        raise SystemExit(128 + received) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def kept_in(folder: Path, words: Sequence[str]) -> str:
    """What a training that was stopped has kept, and the command that continues it.

    Args:
        folder: of the run, of its folds, or of an ensemble.
        words: what followed ``policylearn``.
    """
    import shlex

    from policylearn.settings.run_files import METRICS
    from policylearn.training.checkpoints import CHECKPOINTS, epochs_kept

    kept = []
    for inner in (folder, *sorted(folder.glob("*-*"))):
        epochs = epochs_kept(inner / CHECKPOINTS)
        if (inner / METRICS).exists():
            kept.append(f"{inner} (finished)")
        elif epochs:
            kept.append(f"{inner} ({epochs} epoch{'s' if epochs > 1 else ''})")
    if not kept:
        return "no epoch was kept; call the same command again"
    if not any(word.split("=")[0] in ("-o", "--output") for word in words):
        words = [*words, "-o", str(folder)]
    command = shlex.join(["policylearn", *words, *([] if "--resume" in words else ["--resume"])])
    return f"kept {'; '.join(kept)}. Continue with\n  {command}"
