"""Covering weights: a new component each step, all others alike."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lab.settings import policy_model
from lab.theory.checks.hand_built import coverages, random_orders, separation
from lab.theory.depth import diameters
from lab.theory.graphs import union_family
from lab.theory.weights import covering_model, covering_policy, load_covering_weights
from policylearn.bags import Graphs, Selection, mark_nodes
from policylearn.data import PackedGraphs, make_batch
from policylearn.data.synthetic import csl_members, csl_unions
from policylearn.demo.learning import covered
from policylearn.nn import NetworkConfig, segment_log_softmax

FAMILIES = [(n, size) for n, most in ((13, 3), (17, 4), (29, 4)) for size in range(1, most + 1)]


def batch_of(graphs: PackedGraphs) -> Graphs:
    return Graphs.of(make_batch(graphs, np.arange(len(graphs))))


@pytest.mark.parametrize(("n", "size"), FAMILIES)
def test_every_union_is_covered(n: int, size: int) -> None:
    members = csl_members(n)
    family = random_orders(union_family(members, size), 3, np.random.default_rng(n + size))
    assert coverages(family, size, int(diameters(members).max())) == [1.0, 1.0, 1.0, 1.0]


def test_draws_are_uniform_over_the_components_that_are_left() -> None:
    drawn = csl_unions(17, 3, 50, np.random.default_rng(0))
    graphs, component = batch_of(drawn), torch.from_numpy(drawn.extras["component"])
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        selection = covering_policy(3, 4, mask_selected=False)(graphs, sample=True, generator=generator)
    assert selection.logits is not None
    for step in range(3):
        used = torch.zeros(50, 3, dtype=torch.bool)
        for root in selection.roots[:step]:
            used[torch.arange(50), component[root]] = True
        p = segment_log_softmax(selection.logits[step], graphs.batch, 50).exp()
        wanted = torch.where(used[graphs.batch, component], 0.0, 1 / (17 * (3 - step)))
        assert torch.allclose(p, wanted, atol=1e-7)
        assert bool((p[used[graphs.batch, component]] == 0).all())


def test_states_say_where_a_mark_has_arrived() -> None:
    drawn = csl_unions(13, 2, 5, np.random.default_rng(0))
    graphs, component = batch_of(drawn), torch.from_numpy(drawn.extras["component"])
    roots = graphs.ptr[:-1].unsqueeze(0) + 3
    with torch.no_grad():
        bag = mark_nodes(graphs, Selection(roots), unmarked=False)
        states = covering_policy(2, 3).encoder(graphs, bag)
    arrived = component == component[roots[0]][graphs.batch]
    # The residual stream adds the mark itself.
    assert torch.equal(states[:, 0], arrived + bag.marks[:, 0])
    assert not states[:, 1:].any()


def test_one_layer_short_fails() -> None:
    drawn = csl_unions(13, 3, 200, np.random.default_rng(0))
    graphs, component = batch_of(drawn), torch.from_numpy(drawn.extras["component"])
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        short = covering_policy(3, 2)(graphs, sample=True, generator=generator)
        enough = covering_policy(3, 3)(graphs, sample=True, generator=generator)
    assert float(covered(short, component, 3).double().mean()) < 0.99
    assert bool(covered(enough, component, 3).all())


@pytest.mark.parametrize("pooling", ["mean", "sum"])
@pytest.mark.parametrize("residual", [True, False])
def test_the_weights_fit_wider_networks_and_the_authors_loop(pooling: str, residual: bool) -> None:
    network = NetworkConfig(channels=16, layers=5, conv="gin", residual=residual)
    selection = {"picks": 4, "norm": "none", "mask_selected": False, "pooling": pooling}
    policy = load_covering_weights(policy_model(selection, network).policy)
    drawn = csl_unions(17, 4, 20, np.random.default_rng(0))
    graphs, component = batch_of(drawn), torch.from_numpy(drawn.extras["component"])
    with torch.no_grad():
        once = policy(graphs, sample=False)
        policy.mode = "paper"  # the whole bag anew at each step
        again = policy(graphs, sample=False)
    assert bool(covered(once, component, 4).all())
    assert torch.equal(once.roots, again.roots)


def test_the_whole_model_names_every_class() -> None:
    family = random_orders(union_family(csl_members(17), 3), 6, np.random.default_rng(0))
    batch = make_batch(family, np.arange(len(family)))
    with torch.no_grad():
        found = separation(covering_model(3, 4, 4, torch.Generator().manual_seed(1))(batch), batch.y)
        short = separation(covering_model(3, 1, 4, torch.Generator().manual_seed(1))(batch), batch.y)
    (spread, gap), (short_spread, short_gap) = found, short
    assert gap > 1000 * spread
    assert short_gap < 1000 * short_spread
