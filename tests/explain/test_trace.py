"""Traces: the picks and probabilities of one graph of a batch."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data

from policylearn.explain import Trace, trace_selection
from policylearn.models import Inputs, SubgraphGNN, build_model
from policylearn.nn import Features
from tests.errors import raises_naming


def two_graphs() -> Batch:
    path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    star = torch.tensor([[0, 0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 0, 0, 0, 0]])
    return Batch.from_data_list([Data(x=torch.ones(3, 1), edge_index=path), Data(x=torch.ones(5, 1), edge_index=star)])


def small_model(**selection: object) -> SubgraphGNN:
    torch.manual_seed(0)
    network = {"channels": 8, "layers": 2, "norm": "layer"}
    inputs = Inputs(node_features=Features(real=1), outputs=3)
    return build_model(settings={"prediction": network, "selection": selection}, inputs=inputs).eval()


@torch.no_grad()
def trace(model: SubgraphGNN, batch: Batch, graph: int = 0) -> Trace:
    return trace_selection(model.select(batch), batch, graph)


def test_a_trace_is_the_graphs_own() -> None:
    batch, model = two_graphs(), small_model(picks=3)
    found = trace(model, batch, 1)
    assert found.num_nodes == 5
    assert set(zip(*found.edges, strict=True)) == {(0, leaf) for leaf in range(1, 5)} | {
        (leaf, 0) for leaf in range(1, 5)
    }
    assert len(set(found.picks)) == 3
    for step, row in enumerate(found.probabilities):
        assert sum(row) == pytest.approx(1)
        assert row[found.picks[step]] == pytest.approx(max(row), rel=1e-3)
        assert [row[node] for node in found.picks[:step]] == [0.0] * step
    alone = Batch.from_data_list([batch[1]])
    again = trace(model, alone)
    assert (again.picks, again.edges) == (found.picks, found.edges)


@pytest.mark.parametrize(("policy", "made"), [("random", 2), ("none", 0), ("full", 3)])
def test_policies_without_probabilities(policy: str, made: int) -> None:
    found = trace(small_model(name=policy), two_graphs(), 0)
    assert len(found.picks) == made
    assert found.probabilities is None
    assert all(0 <= node < 3 for node in found.picks)


def test_a_graph_that_is_not_there_is_named() -> None:
    batch, model = two_graphs(), small_model(name="none")
    with raises_naming(ValueError, "got 2"):
        trace_selection(model.select(batch), batch, 2)
