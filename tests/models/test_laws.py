"""Laws that every model obeys, whatever its weights."""

from __future__ import annotations

from copy import deepcopy

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv, GINEConv

from policylearn.bags import Graphs, Selection
from policylearn.models import SubgraphGNN
from policylearn.nn import GIN, Features, SingleStreamEncoder
from policylearn.policies import LearnedPolicy
from tests.graphs import BONDS, POLICIES, batch_of, molecules, permuted, random_graphs, small_model, symmetric_graphs

DTYPES = pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-10)])


def assert_close(a: Tensor, b: Tensor, tolerance: float) -> None:
    assert a.shape == b.shape
    assert (a - b).abs().max() <= tolerance * max(1.0, float(b.abs().max()))


@torch.no_grad()
def assert_equivariant(model: SubgraphGNN, data: Data, roots: Tensor, order: Tensor, tolerance: float) -> None:
    """Relabelling the nodes of a graph and its picks relabels the node outputs and leaves graph outputs alone."""
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    before = model.predict(data, Selection(roots))
    after = model.predict(permuted(data, order), Selection(place[roots]))
    by_node = len(before) == len(order) and model.readout.level == "node"
    assert_close(after, before[order] if by_node else before, tolerance)


def picks_and_order(data: Data, seed: int, picks: int = 3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    nodes = data.num_nodes
    return torch.randint(nodes, (picks, 1), generator=generator), torch.randperm(nodes, generator=generator)


@DTYPES
@pytest.mark.parametrize("level", ["graph", "node"])
@pytest.mark.parametrize("pooling", ["mean", "sum", "min"])
def test_permutations(dtype: torch.dtype, tolerance: float, level: str, pooling: str) -> None:
    model = small_model(dtype=dtype, level=level, pooling=pooling).eval()

    @given(random_graphs(), st.integers(0, 1000))
    def law(data: Data, seed: int) -> None:
        assert_equivariant(model, data, *picks_and_order(data, seed), tolerance)

    law()


@DTYPES
def test_marked_copies_are_exchangeable(dtype: torch.dtype, tolerance: float) -> None:
    model = small_model(dtype=dtype).eval()

    @given(random_graphs(), st.permutations(range(4)))
    def law(data: Data, order: list[int]) -> None:
        roots, _ = picks_and_order(data, 0, picks=4)
        with torch.no_grad():
            assert_close(model.predict(data, Selection(roots[order])), model.predict(data, Selection(roots)), tolerance)

    law()


@DTYPES
@pytest.mark.parametrize("policy", POLICIES)
def test_a_graph_alone_and_in_company(policy: str, dtype: torch.dtype, tolerance: float) -> None:
    """Batch independence of the default mode, symmetric graphs included."""
    model = small_model(policy, dtype=dtype).eval()
    graphs = symmetric_graphs() + molecules(8)
    company = molecules(64, seed=100)
    with torch.no_grad():
        for data in graphs:
            alone = model(batch_of(data))
            first = model(batch_of(data, *company))[:1]
            last = model(batch_of(*company, data))[-1:]
            assert (first - alone).abs().max() < min(1e-5, tolerance)
            assert (last - alone).abs().max() < min(1e-5, tolerance)


def test_paper_mode_depends_on_the_company() -> None:
    """The reason why the default mode exists."""
    model = small_model(mode="paper").eval()
    data, *company = molecules(9)
    with torch.no_grad():
        alone = model.select(batch_of(data)).logits
        together = model.select(batch_of(data, *company)).logits
    assert alone is not None
    assert together is not None
    assert (together[0, : data.num_nodes] - alone[0]).abs().max() > 1e-3


@DTYPES
def test_straight_through_marks_equal_hard_marks(dtype: torch.dtype, tolerance: float) -> None:
    model = small_model(dtype=dtype, estimator="straight_through", picks=3, tau=0.33).train()

    @given(random_graphs(), st.integers(0, 1000))
    def law(data: Data, seed: int) -> None:
        graphs = Graphs.of(data)
        selection = model.select(graphs, generator=torch.Generator().manual_seed(seed))
        assert selection.marks is not None
        assert selection.marks.requires_grad
        hard = torch.zeros_like(selection.marks).scatter(1, selection.roots, 1.0)
        assert (selection.marks - hard).abs().max() <= 1e-6
        model.eval()
        with torch.no_grad():
            assert_close(
                model.predict(graphs, Selection(selection.roots, marks=selection.marks)),
                model.predict(graphs, Selection(selection.roots)),
                1e-5,
            )
        model.train()

    law()


class PyGStack(nn.Module):
    """The same network as `none` with the single-stream encoder, written with PyG's own layers."""

    def __init__(self, ours: SubgraphGNN) -> None:
        super().__init__()
        assert isinstance(ours.encoder, SingleStreamEncoder)
        self.ours = ours
        self.convs = nn.ModuleList()
        for layer in ours.encoder.layers:
            conv = layer.features.conv
            assert isinstance(conv, GIN)
            mlp = nn.Sequential(deepcopy(conv.lin1), batch_norm(conv.norm), nn.ReLU(), deepcopy(conv.lin2))
            weights = deepcopy(mlp.state_dict())
            kind = GINConv if conv.edges is None else GINEConv
            self.convs.append(kind(mlp, eps=conv.eps.item(), train_eps=False))
            mlp.load_state_dict(weights)  # PyG draws the weights of a layer anew when it is made
        self.norms = nn.ModuleList(batch_norm(layer.features.norm) for layer in ours.encoder.layers)

    def forward(self, batch: Batch) -> Tensor:
        h = self.ours.encoder.node_encoder(Graphs.of(batch))
        for conv, norm, layer in zip(self.convs, self.norms, self.ours.encoder.layers, strict=True):
            edges = layer.features.conv.edges
            extra = () if edges is None else (edges.tables[0](batch.edge_attr[:, 0]),)
            h = h + torch.relu(norm(conv(h, batch.edge_index, *extra)))
        return self.ours.head(self.ours.readout.of_nodes(h, Graphs.of(batch)))


def batch_norm(ours: nn.Module) -> nn.BatchNorm1d:
    theirs = nn.BatchNorm1d(len(ours.weight), dtype=ours.weight.dtype)
    theirs.load_state_dict(ours.state_dict(), strict=False)
    return theirs


@DTYPES
@pytest.mark.parametrize("edges", [Features(), Features((BONDS,))], ids=["GIN", "GINE"])
@pytest.mark.parametrize("training", [True, False])
def test_no_picks_is_pygs_own_stack(dtype: torch.dtype, tolerance: float, edges: Features, training: bool) -> None:
    model = small_model("none", dtype=dtype, edge_features=edges)
    theirs = PyGStack(model)
    batch = batch_of(*molecules(10))
    model.train(training)
    theirs.train(training)
    assert_close(model(batch).detach(), theirs(batch).detach(), tolerance)


def test_the_learned_policy_is_the_same_whatever_the_order_of_graphs() -> None:
    model = small_model(picks=3).eval()
    assert isinstance(model.policy, LearnedPolicy)
    graphs = symmetric_graphs()
    with torch.no_grad():
        forward = model(batch_of(*graphs))
        backward = model(batch_of(*graphs[::-1])).flip(0)
    assert (forward - backward).abs().max() < 1e-5
