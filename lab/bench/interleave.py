"""Times of things that are compared, taken turn by turn in one run, so that a busy machine slows all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

QUIET = 0.03
"""Seconds of rest ahead of each turn: threads of the one before keep asking for work for some milliseconds."""

Key = TypeVar("Key")
Clock = Callable[[], float]


@dataclass(frozen=True)
class TimedStep(Generic[Key]):
    """Something to time.

    Args:
        key: what it is.
        run: does it once, with the data of a round.
        rounds: how often it is timed.
        warm: run it once ahead of each time. In training a step follows another of its kind, and finds the memory that
            that one left; here it follows somebody else, who may have given his back to the system.
    """

    key: Key
    run: Callable[[int], None]
    rounds: int
    warm: bool = False


def interleave(
    entries: Sequence[TimedStep[Key]],
    *,
    before: Callable[[Key], None] = lambda _key: None,
    clock: Clock = time.perf_counter,
) -> dict[Key, list[float]]:
    """Seconds of every entry in every round: all entries of the first round, then all of the second, and so on.

    Args:
        entries: in the order of their turns; one with fewer rounds is left out of the later ones.
        before: called with an entry's key ahead of each of its turns, outside the measured time.
        clock: gives seconds.
    """
    spent: dict[Key, list[float]] = {entry.key: [] for entry in entries}
    for turn in range(max((entry.rounds for entry in entries), default=0)):
        for entry in entries:
            if turn < entry.rounds:
                before(entry.key)
                if entry.warm:
                    entry.run(turn)
                time.sleep(QUIET)
                start = clock()
                entry.run(turn)
                spent[entry.key].append(clock() - start)
    return spent


def time_once(run: Callable[[], None], clock: Clock = time.perf_counter) -> float:
    """Seconds of one run."""
    start = clock()
    run()
    return clock() - start


def milliseconds(seconds: Sequence[float]) -> tuple[float, ...]:
    """As records hold times."""
    return tuple(1000 * value for value in seconds)


def rounds_within(seconds: float, once: float, most: int) -> int:
    """How many rounds of something that takes ``once`` fit into ``seconds``: at least one, at most ``most``."""
    return most if once * most <= seconds else max(1, int(seconds / once))
