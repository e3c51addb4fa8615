"""Vectors of graphs that know how large the graph is."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data

from policylearn.data import Task
from tests.graphs import batch_of, molecules, permuted, small_model, symmetric_graphs

ORDERS = pytest.mark.parametrize("order", ["copies", "nodes"])


def twice(data: Data) -> Data:
    """A graph with two copies of this one, which are not connected."""
    both = Batch.from_data_list([data, data])
    return Data(x=both.x, edge_index=both.edge_index, edge_attr=both.edge_attr, num_nodes=both.num_nodes)


@ORDERS
@pytest.mark.parametrize("policy", ["learned", "none", "full"])
@torch.no_grad()
def test_a_graph_alone_in_company_and_with_its_nodes_in_another_order(policy: str, order: str) -> None:
    model = small_model(policy, readout="both", order=order, dtype=torch.float64).eval()
    company = molecules(20, seed=3)
    for data in [*molecules(4), *symmetric_graphs()]:
        alone = model(batch_of(data))
        torch.testing.assert_close(model(batch_of(*company, data))[-1:], alone, rtol=0, atol=1e-9)
        if policy != "learned":  # whose picks among symmetric nodes go by their order
            turned = permuted(data, torch.arange(data.num_nodes).flip(0))
            torch.testing.assert_close(model(batch_of(turned)), alone, rtol=0, atol=1e-9)


@torch.no_grad()
def test_a_mean_cannot_tell_a_graph_from_two_of_it_and_both_can() -> None:
    (data,) = molecules(1)
    batch = batch_of(data, twice(data))
    mean, both = (
        small_model("none", readout=readout, dtype=torch.float64).eval()(batch) for readout in ("mean", "both")
    )
    assert abs(float(mean[0] - mean[1])) < 1e-9
    assert abs(float(both[0] - both[1])) > 1e-3


def test_what_the_baseline_looks_at_does_not_move_the_norm() -> None:
    """The costs of fewer copies are looked at in training alone; the norm is to know the bags that evaluation has."""
    batch, found = batch_of(*molecules(12)), []
    for learning in (True, False):
        model = small_model("learned", readout="both", estimator="reinforce").train()
        assert model.vector_norm is not None
        generator = torch.Generator().manual_seed(5)
        if learning:
            model.objective(
                batch, torch.zeros(12, 1), Task("regression", "mse", "rmse").loss_terms, generator=generator
            )
        else:
            model(batch, generator=generator)
        found.append((model.vector_norm.running_mean, model.vector_norm.running_var))
    torch.testing.assert_close(found[0], found[1], rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_a_task_of_nodes_has_nothing_to_pool() -> None:
    batch = batch_of(*molecules(3))
    outputs = [small_model(level="node", readout=readout).eval()(batch) for readout in ("mean", "sum", "both")]
    assert len(outputs[0]) == batch.num_nodes
    assert torch.equal(outputs[0], outputs[1])
    assert torch.equal(outputs[0], outputs[2])
