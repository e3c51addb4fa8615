"""How likely random marks are to reach every component, and how many of them it takes: the paper on random policies."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import numpy as np

from policylearn.data.packed import Array


def success_with_replacement(components: int) -> Fraction:
    """The chance l! / l^l that l uniform draws hit l components of equal size."""
    return Fraction(factorial(components), components**components)


def success_without_replacement(n: int, components: int) -> Fraction:
    """The same, n^l / C(nl, l), where no node is drawn twice."""
    return Fraction(n**components, comb(n * components, components))


def expected_draws(components: int) -> Fraction:
    """Expected number l H_l of uniform draws until every component was hit (the coupon collector's problem).

    The paper's "around 460" for l = 100 is the leading term l ln l; the expectation itself is 518.7.
    """
    return components * sum((Fraction(1, i) for i in range(1, components + 1)), start=Fraction(0))


def simulate_draws(n: int, components: int, trials: int, generator: np.random.Generator) -> Array:
    """Draw nodes uniformly until every component was hit, and count the draws, ``(trials,)``."""
    hit = np.zeros((trials, components), dtype=bool)
    missing = np.full(trials, components)
    draws = np.zeros(trials, dtype=np.int64)
    running = np.arange(trials)
    while len(running):
        part = generator.integers(n * components, size=len(running)) // n
        draws[running] += 1
        missing[running] -= ~hit[running, part]
        hit[running, part] = True
        running = running[missing[running] > 0]
    return draws
