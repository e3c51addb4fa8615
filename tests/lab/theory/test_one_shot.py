"""One-shot networks inside the learned policy, and why they cannot cover."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lab.settings import policy_model
from lab.theory.checks.hand_built import difference, random_graphs
from lab.theory.checks.random_policies import UNEVEN, unevenness
from lab.theory.weights import draw_weights, one_shot_policy, random_one_shot, table_one_shot
from policylearn.bags import Graphs
from policylearn.data import make_batch
from policylearn.nn import NetworkConfig, segment_log_softmax
from tests.molecule_graphs import path


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("picks", [1, 2, 7])
def test_any_network_one_distribution_a_step(picks: int, dtype: torch.dtype, tolerance: float) -> None:
    graphs = random_graphs(20, np.random.default_rng(picks))
    generator = torch.Generator().manual_seed(picks)
    network = random_one_shot(1, 10, 2, picks, generator).to(dtype)
    assert difference(network, make_batch(graphs, np.arange(20)), generator) < tolerance


@pytest.mark.parametrize("sample", [True, False])
def test_any_table_of_distributions(sample: bool) -> None:
    """Peaked, flat and different at each step; the picks made on the way do not matter."""
    graphs = random_graphs(20, np.random.default_rng(0))
    batch = make_batch(graphs, np.arange(20))
    generator = torch.Generator().manual_seed(0)
    given = torch.stack([scale * torch.randn(len(batch.x), generator=generator) for scale in (5.0, 0.0, 1.0)])
    wanted = torch.stack([segment_log_softmax(row, batch.batch, 20) for row in given])  # (T, N) log-probabilities
    batch.x = wanted.t()
    prepared = Graphs.of(batch)
    with torch.no_grad():
        logits = one_shot_policy(table_one_shot(3))(prepared, sample=sample, generator=generator).logits
    assert logits is not None
    found = torch.stack([segment_log_softmax(row, batch.batch, 20) for row in logits])
    assert torch.allclose(found, wanted, atol=1e-5)


def test_the_step_is_what_selects_the_column() -> None:
    batch = make_batch(path(5), [0])
    batch.x = torch.tensor([[9.0, 0, 0], [0, 9, 0], [0, 0, 9], [0, 0, 0], [0, 0, 0]])
    with torch.no_grad():
        roots = one_shot_policy(table_one_shot(3))(Graphs.of(batch), sample=False).roots
    assert roots.flatten().tolist() == [0, 1, 2]


def test_the_uniform_check_is_not_blind() -> None:
    """Networks that are uniform on CSL unions are not on a path."""
    graphs = Graphs.of(make_batch(path(9), [0]))
    generator = torch.Generator().manual_seed(0)
    network = NetworkConfig(channels=16, layers=4)
    model = policy_model({"picks": 1, "norm": "layer"}, network)
    with torch.no_grad():
        logits = draw_weights(model, generator).policy(graphs).logits
        one_shot = random_one_shot(1, 16, 3, 2, generator)(graphs).t()
    assert logits is not None
    assert unevenness(logits, graphs) > 100 * UNEVEN
    assert unevenness(one_shot, graphs) > 100 * UNEVEN
