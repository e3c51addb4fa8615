"""Handle SIGINT and SIGTERM: say what was kept and how to continue, and exit with the code of the signal."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StoppedError(BaseException):
    """A signal to stop, by its number; no handler of errors holds it up."""


@contextmanager
def stop_signals(say_kept: Callable[[], str]) -> Iterator[None]:
    """Answer SIGINT and SIGTERM within a block by a line on stderr and the exit code of the signal.

    The line ends with what ``say_kept`` returns: what was kept and how to continue. It is called after all clean-up.
    """
    owner = os.getpid()

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:  # a forked worker inherits this handler, and exits silently
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
