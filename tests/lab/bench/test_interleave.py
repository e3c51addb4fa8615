"""Turns are taken one after the other, and times belong to whom they are written down for."""

from __future__ import annotations

import itertools

import pytest

from lab.bench.interleave import TimedStep, interleave, rounds_within


def test_everybody_has_a_turn_before_anybody_has_the_next() -> None:
    calls: list[tuple[str, int]] = []

    def entry(name: str, rounds: int) -> TimedStep[str]:
        return TimedStep(name, lambda turn: calls.append((name, turn)), rounds)

    announced: list[str] = []
    spent = interleave([entry("a", 3), entry("b", 1), entry("c", 3)], before=announced.append)
    assert calls == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("c", 1), ("a", 2), ("c", 2)]
    assert announced == [name for name, _ in calls]
    assert {name: len(times) for name, times in spent.items()} == {"a": 3, "b": 1, "c": 3}


def test_times_are_those_between_the_two_looks_at_the_clock() -> None:
    ticks = itertools.accumulate(itertools.count(1))  # 1, 3, 6, 10, ...: differences 2, 4, 6, 8
    entries = [TimedStep(name, lambda _turn: None, 2) for name in "ab"]
    assert interleave(entries, clock=lambda: next(ticks)) == {"a": [2, 6], "b": [4, 8]}


@pytest.mark.parametrize(("once", "rounds"), [(1.0, 7), (10.0, 7), (20.0, 5), (60.0, 1), (500.0, 1)])
def test_slow_ones_get_fewer_rounds(once: float, rounds: int) -> None:
    assert rounds_within(100.0, once, 7) == rounds
