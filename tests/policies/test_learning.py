"""Learned picks become good picks: a marked node in every component, as the paper proves possible for CSL unions."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from policylearn.demo.learning import Learned, LearningConfig, evaluate, fresh_graphs, learn, share_covered

CONFIG = LearningConfig(steps=150, every=150, channels=24, learning_rate=3e-3, calibration=5, test_graphs=10, settled=0)
"""Three components of 17 nodes and three picks: drawn uniformly, 24 % of the bags have one in every component."""
CHANCE = 17**3 / (51 * 50 * 49 / 6)


@pytest.fixture(scope="module")
def learned() -> Learned:
    return learn(CONFIG)


def test_learned_picks_cover_and_random_ones_do_not(learned: Learned) -> None:
    """On graphs that no training has seen; those of a class differ in the order of their nodes."""
    new = next(fresh_graphs(replace(CONFIG, seed=7), 1, 200))
    accuracy, best, drawn = evaluate(learned.model, CONFIG, new)
    by_chance = replace(CONFIG, method="random")
    random_accuracy, random_coverage, _ = evaluate(learn(by_chance).model, by_chance, new)
    assert random_coverage == pytest.approx(CHANCE, abs=0.12)
    assert drawn > 0.9
    assert best > 0.9
    assert accuracy > 0.95
    assert accuracy > random_accuracy + 0.15


@pytest.mark.parametrize("n", [13, 19])
def test_picks_cover_graphs_of_classes_that_training_had_not(learned: Learned, n: int) -> None:
    other = replace(CONFIG, n=n)
    batch = next(fresh_graphs(other, 1, 100))
    with torch.no_grad():
        assert share_covered(learned.model.select(batch), batch, other) > 0.8
