"""Random marks: formulas, draws and coverage."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest
import torch

from lab.theory.chance import (
    expected_draws,
    simulate_draws,
    success_with_replacement,
    success_without_replacement,
)
from policylearn.bags import Selection
from policylearn.demo.learning import covered


def test_known_chances() -> None:
    assert [success_with_replacement(parts) for parts in (1, 2, 3)] == [1, Fraction(1, 2), Fraction(2, 9)]
    assert success_without_replacement(13, 2) == Fraction(13, 25)
    assert success_without_replacement(1, 5) == 1


def test_without_replacement_is_likelier_and_tends_to_with() -> None:
    for parts in range(2, 8):
        chances = [success_without_replacement(n, parts) for n in (13, 17, 29, 10**6)]
        assert chances == sorted(chances, reverse=True)
        assert chances[-1] > success_with_replacement(parts)
        assert float(chances[-1]) == pytest.approx(float(success_with_replacement(parts)), rel=1e-4)


def test_the_paper_rounds_100_components_to_460_draws() -> None:
    assert round(float(expected_draws(100)), 1) == 518.7
    assert round(100 * log(100)) == 461
    assert expected_draws(3) == Fraction(11, 2)


@pytest.mark.parametrize("parts", [1, 2, 5, 20])
def test_simulated_draws_meet_the_expectation(parts: int) -> None:
    counted = simulate_draws(13, parts, 4000, np.random.default_rng(1))
    assert counted.min() >= parts
    assert abs(counted.mean() - float(expected_draws(parts))) <= 4 * counted.std() / 4000**0.5


def test_covered_asks_for_every_component() -> None:
    component = torch.tensor([0, 0, 1, 1, 0, 1, 0, 1])
    selection = Selection(torch.tensor([[0, 4], [3, 6]]))
    assert covered(selection, component, 2).tolist() == [True, False]
