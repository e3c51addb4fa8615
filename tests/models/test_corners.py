"""Graphs at the edge of what a graph is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from policylearn.bags import NO_PICK, Bag, Graphs, Selection
from policylearn.models import SubgraphGNN
from policylearn.nn import CopiesThenNodes
from policylearn.nn.segments import NoCandidateError
from policylearn.policies import LearnedPolicy, NoPolicy, RandomPolicy
from tests.errors import raises_naming
from tests.graphs import POLICIES, batch_of, data_of, molecules, small_model

ONE_NODE = Data(torch.tensor([[2]]), torch.zeros(2, 0).long(), torch.zeros(0, 1).long())
NO_EDGES = Data(torch.tensor([[2], [0], [1]]), torch.zeros(2, 0).long(), torch.zeros(0, 1).long())
ISOLATED = Data(torch.tensor([[2], [0], [1]]), torch.tensor([[0, 1], [1, 0]]), torch.tensor([[1], [1]]))
TWO_PARTS = Data(
    torch.tensor([[2], [0], [1], [1]]), torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]), torch.tensor([[1], [1], [2], [2]])
)
CORNERS = {"one node": ONE_NODE, "no edges": NO_EDGES, "isolated node": ISOLATED, "two components": TWO_PARTS}


def squared(output: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return (output - y).square(), torch.ones_like(output, dtype=torch.bool)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("corner", CORNERS)
def test_corner_graphs_predict_and_train(policy: str, corner: str) -> None:
    data = CORNERS[corner]
    model = small_model(policy, **{} if policy in ("full", "none") else {"picks": 3}).eval()
    with torch.no_grad():
        assert model(data).isfinite().all()
        assert model(batch_of(data, *molecules(3))).isfinite().all()
    model.train()
    for batch in (batch_of(data), batch_of(data, *molecules(3))):
        step = model.objective(batch, torch.zeros(batch.num_graphs, 1), squared)
        step.loss.backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("policy", ["learned", "random", "degree", "centrality"])
@pytest.mark.parametrize("training", [True, False])
def test_nodes_repeat_only_once_all_are_used(policy: str, training: bool) -> None:
    model = small_model(policy, picks=5).train(training)
    graphs = Graphs.of(batch_of(NO_EDGES, *molecules(2), ONE_NODE))
    roots = model.select(graphs).local_roots(graphs.ptr)
    assert sorted(roots[:3, 0].tolist()) == [0, 1, 2]
    assert (roots[:, -1] == 0).all()


@pytest.mark.parametrize("policy", ["learned", "random", "degree", "centrality"])
@torch.no_grad()
def test_no_picks_means_the_unmarked_graph_alone(policy: str) -> None:
    model, batch = small_model(policy, picks=0).eval(), batch_of(ONE_NODE, NO_EDGES)
    assert model.select(batch).roots.shape == (0, 2)
    assert torch.equal(model(batch), model.predict(batch, Selection.nothing(torch.tensor([0, 1, 4]))))


def test_full_picks_every_node_once() -> None:
    graphs = Graphs.of(batch_of(NO_EDGES, ONE_NODE, TWO_PARTS))
    roots = small_model("full").select(graphs).roots
    assert roots.tolist() == [[0, 3, 4], [1, NO_PICK, 5], [2, NO_PICK, 6], [NO_PICK, NO_PICK, 7]]


def test_duplicate_edges_and_self_loops_count_as_given() -> None:
    model = small_model().eval()
    plain = Data(torch.tensor([[0], [1]]), torch.tensor([[0, 1], [1, 0]]), torch.tensor([[1], [1]]))
    double = Data(plain.x, torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]]), torch.tensor([[1], [1], [1], [1]]))
    loop = Data(plain.x, torch.tensor([[0, 1, 0], [1, 0, 0]]), torch.tensor([[1], [1], [1]]))
    with torch.no_grad():
        outputs = [model.predict(data, model.select(plain)) for data in (plain, double, loop)]
    assert (outputs[0] - outputs[1]).abs().max() > 1e-4
    assert (outputs[0] - outputs[2]).abs().max() > 1e-4


@pytest.mark.parametrize("dropout", [0.5, 0.99])
@pytest.mark.parametrize("mask", [True, False])
def test_node_dropout_always_leaves_a_candidate(dropout: float, mask: bool) -> None:
    policy = small_model(picks=6, node_dropout=dropout, mask_selected=mask).train().policy
    graphs = Graphs.of(batch_of(ONE_NODE, NO_EDGES, ISOLATED, TWO_PARTS, *molecules(20)))
    logits = policy(graphs, generator=torch.Generator().manual_seed(0)).logits
    candidates = torch.zeros(6, graphs.num_graphs).index_add_(1, graphs.batch, logits.isfinite().float())
    assert (candidates >= 1).all()
    share = float(logits.isfinite().float().mean())
    assert share < 1 - dropout + 0.25
    assert not torch.equal(logits[0].isfinite(), logits[1].isfinite())


def test_node_dropout_drops_the_share_that_is_asked_for() -> None:
    policy = small_model(picks=1, node_dropout=0.3).train().policy
    graphs = Graphs.of(batch_of(*[data_of_path(200) for _ in range(20)]))
    kept = policy(graphs, generator=torch.Generator().manual_seed(0)).logits.isfinite().float().mean()
    assert abs(float(kept) - 0.7) < 0.03


def data_of_path(nodes: int) -> Data:
    import networkx as nx

    return data_of(nx.path_graph(nodes))


def test_an_empty_graph_is_refused() -> None:
    empty = Data(torch.zeros(0, 1).long(), torch.zeros(2, 0).long(), torch.zeros(0, 1).long())
    with raises_naming(ValueError, "graph 1"):
        small_model()(batch_of(ONE_NODE, empty))


def test_a_category_that_the_model_does_not_know_is_refused() -> None:
    with raises_naming(ValueError, "category 7"):
        small_model()(Data(torch.tensor([[7]]), torch.zeros(2, 0).long(), torch.zeros(0, 1).long()))


def test_an_edge_to_a_node_that_is_not_there_is_refused() -> None:
    wrong = Data(torch.tensor([[0]]), torch.tensor([[0], [4]]), torch.tensor([[0]]))
    with raises_naming(ValueError, "node 4"):
        small_model()(wrong)


def test_scores_that_are_nan_stop_the_run() -> None:
    model = small_model().eval()
    with torch.no_grad():
        model.policy.selector.lin2.bias.fill_(torch.nan)
    with pytest.raises(NoCandidateError):
        model.select(batch_of(*molecules(2)))


@pytest.mark.parametrize(
    ("roots", "message"),
    [
        ([[0, 9]], "graph 1 is node 9"),  # behind the batch
        ([[0, 3], [5, 4]], "graph 0 is node 5"),  # of the other graph
        ([[0, -2]], "graph 1 is node -2"),
        ([[0, 3, 5]], r"'roots'.*\(1, 3\)"),  # of another batch
        ([[0.0, 3.0]], r"roots.long\(\)"),
        ([[NO_PICK, 3], [0, 4]], "NO_PICK"),
    ],
)
def test_picks_that_are_not_of_the_batch_are_refused(roots: list[list[float]], message: str) -> None:
    model, batch = small_model("random").eval(), batch_of(NO_EDGES, TWO_PARTS)
    selection = Selection(torch.tensor(roots))
    with torch.no_grad(), pytest.raises(ValueError, match=message):
        model.predict(batch, selection)
    with pytest.raises(ValueError, match=message):
        model.train().predict(batch, selection)


def marks_alone(graphs: Graphs, bag: Bag) -> Tensor:
    """An encoder that is no module and has no weights."""
    return bag.marks


@pytest.mark.parametrize("policy", [NoPolicy(), RandomPolicy(2), LearnedPolicy(marks_alone, nn.Identity(), picks=2)])
@pytest.mark.parametrize("training", [True, False])
def test_a_model_without_weights(policy: Callable[..., Selection], training: bool) -> None:
    model = SubgraphGNN(policy, marks_alone, CopiesThenNodes("mean", "sum"), nn.Identity()).train(training)
    picks = 0 if isinstance(policy, NoPolicy) else policy.picks
    assert torch.allclose(model(batch_of(NO_EDGES, TWO_PARTS)), torch.full((2, 1), picks / (picks + 1)))


def test_a_head_without_weights_takes_the_encoders_precision() -> None:
    model = small_model("random", dtype=torch.float64).eval()
    model.head = nn.Identity()
    batch = batch_of(NO_EDGES, TWO_PARTS)
    with torch.no_grad():
        assert model(batch).dtype == torch.float64
    assert model.train()(batch).dtype == model.dtype == torch.float64


def test_without_picks_the_selection_network_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = small_model("learned", picks=0).eval(), batch_of(*molecules(3))
    monkeypatch.delattr(model.policy, "encoder")
    with torch.no_grad():
        assert model.select(batch).roots.shape == (0, 3)
