"""Training from scratch: what each method can see, what a run repeats, and that the loss falls."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
import torch

from policylearn.data import DataError
from policylearn.demo.learning import (
    METHODS,
    LearningConfig,
    evaluate,
    first_settled,
    fresh_graphs,
    learn,
    new_model,
)
from policylearn.policies import Reinforce, StraightThrough

SMALL = LearningConfig(n=8, components=1, steps=20, every=10, channels=8, layers=2, calibration=2, test_graphs=20)
"""One ring of 8 nodes: one class, quick."""
PAIRS = replace(SMALL, n=13, components=2, layers=3, bags=16, channels=16)
"""Two of three rings: three classes."""


def test_graphs_have_rings_of_n_nodes() -> None:
    config = LearningConfig()
    assert config.classes == 4
    for batch in islice(fresh_graphs(config, 0, 5), 2):
        assert torch.bincount(batch.component + 3 * batch.batch).tolist() == [17] * 15
        source, target = batch.edge_index
        assert torch.equal(batch.component[source], batch.component[target])


def test_training_test_and_norms_share_no_graph_order() -> None:
    first = [next(fresh_graphs(LearningConfig(), stream, 4)).edge_index for stream in range(3)]
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[0], first[2])


@pytest.mark.parametrize("method", METHODS)
def test_coverage_is_what_the_method_can_have(method: str) -> None:
    config = replace(PAIRS, method=method)
    test = next(fresh_graphs(config, 1, 200))
    _, coverage, sampled = evaluate(new_model(config), config, test)
    if method in ("none", "full"):
        assert coverage == sampled == (method == "full")
        return
    assert sampled == pytest.approx(0.52, abs=0.12)  # n^l / C(nl, l): untrained scores are nearly uniform
    if method == "random":
        assert coverage == pytest.approx(0.52, abs=0.12)


def test_none_sees_no_class_at_all() -> None:
    config = replace(PAIRS, method="none", steps=10)
    found = learn(config)
    batch = next(fresh_graphs(config, 1, 30))
    outputs = found.model(batch)
    assert torch.allclose(outputs, outputs[:1].expand_as(outputs), atol=1e-4)
    assert first_settled(found.curve, config) is None


def test_full_learns_in_a_few_steps() -> None:
    found = learn(replace(PAIRS, method="full", steps=60, every=20, bags=24, settled=1, learning_rate=3e-3))
    losses = [point.loss for point in found.curve]
    assert losses[-1] < 0.7 * losses[0]
    assert all(point.coverage == point.sampled_coverage == 1 for point in found.curve)


def test_training_moves_both_networks_and_reports_every_step() -> None:
    seen = []
    config = replace(PAIRS, steps=4, every=2)
    found = learn(config, lambda step, loss, newest: seen.append((step, newest and newest.step)))
    assert seen == [(1, None), (2, 2), (3, 2), (4, 4)]
    before = new_model(config).state_dict()
    moved = {
        name.split(".")[0] for name, value in found.model.named_parameters() if not torch.equal(value, before[name])
    }
    assert {"policy", "encoder", "head"} <= moved


def test_the_same_seed_goes_the_same_way_however_often_it_is_looked_at() -> None:
    often, seldom = (learn(replace(PAIRS, steps=4, every=every)) for every in (1, 4))
    other = learn(replace(PAIRS, steps=4, every=4, seed=1))
    last = replace(often.curve[-1], seconds=0, cpu_seconds=0, loss=0)
    assert last == replace(seldom.curve[-1], seconds=0, cpu_seconds=0, loss=0)
    for name, value in often.model.named_parameters():
        assert torch.equal(value, dict(seldom.model.named_parameters())[name]), name
    assert not torch.equal(often.model.head.lin1.weight, other.model.head.lin1.weight)


def test_a_run_ends_once_it_has_settled() -> None:
    found = learn(replace(SMALL, every=2, settled=2, method="random"))  # one class: right from the start
    assert [point.step for point in found.curve] == [2, 4]
    assert first_settled(found.curve, found.config) == found.curve[0]
    assert len(learn(replace(SMALL, every=5, settled=0, method="random")).curve) == 4


def test_coverage_counts_for_learned_policies() -> None:
    found = learn(replace(SMALL, steps=1, every=1)).curve[0]
    poor = replace(found, accuracy=1.0, coverage=0.5)
    assert not poor.reaches(SMALL)
    assert poor.reaches(replace(SMALL, method="random"))


def test_torch_s_own_generator_is_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    learn(replace(SMALL, steps=1))
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "best"}, "'method'.*reinforce"),
        ({"steps": 0}, "'steps'"),
        ({"bags": 0}, "'bags'"),
    ],
)
def test_settings_that_make_no_sense_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        replace(SMALL, **change)


def test_a_cosine_comes_to_rest() -> None:
    """The same first step; then the rate falls, so that the weights end nearer to where they began."""
    start = torch.cat([weight.flatten() for weight in new_model(PAIRS).parameters()])

    def way(steps: int, schedule: str) -> torch.Tensor:
        found = learn(replace(PAIRS, steps=steps, every=steps, schedule=schedule))
        return torch.cat([weight.detach().flatten() for weight in found.model.parameters()]) - start

    assert torch.equal(way(1, "cosine"), way(1, "constant"))
    assert way(30, "cosine").abs().mean() < 0.9 * way(30, "constant").abs().mean()
    with pytest.raises(DataError):
        replace(PAIRS, schedule="linear")


def test_settings_of_an_estimator_reach_it() -> None:
    assert new_model(replace(SMALL, entropy=0.1)).policy.estimator == Reinforce(entropy=0.1)
    assert new_model(replace(SMALL, method="straight_through", tau=0.3)).policy.estimator == StraightThrough(0.3)
