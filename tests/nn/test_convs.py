"""Any PyG layer over the same bag, and the layers' own laws."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch_geometric.nn import GATv2Conv, GCNConv, GINConv, GINEConv, MessagePassing, SAGEConv

from policylearn.bags import Bag, Graphs, Selection, mark_nodes
from policylearn.nn import GIN, CategoricalEdges, PyGConv, RealEdges
from policylearn.policies import FullPolicy
from tests.errors import raises_naming
from tests.graphs import BONDS, batch_of, molecules, small_model

GRAPHS = Graphs.of(batch_of(*molecules(6)))
TWO_PICKS = Selection(torch.stack([GRAPHS.ptr[:-1], GRAPHS.ptr[1:] - 1]))


def bags() -> list[Bag]:
    return [mark_nodes(GRAPHS, s, dtype=torch.float64) for s in (TWO_PICKS, FullPolicy()(GRAPHS))]


@pytest.mark.parametrize("conv", [GCNConv(4, 3), SAGEConv(4, 3), GATv2Conv(4, 3)], ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("ragged", [False, True])
def test_pyg_layers_see_one_copy_at_a_time(conv: MessagePassing, ragged: bool) -> None:
    conv = conv.double()
    bag = bags()[int(ragged)]
    states = torch.randn(len(bag.marks), 4, dtype=torch.float64)
    got = PyGConv(conv)(states, bag, None)
    for graph in range(GRAPHS.num_graphs):
        nodes = torch.arange(int(GRAPHS.ptr[graph]), int(GRAPHS.ptr[graph + 1]))
        inside = (GRAPHS.edge_index[0] >= nodes[0]) & (GRAPHS.edge_index[0] <= nodes[-1])
        local = GRAPHS.edge_index[:, inside] - nodes[0]
        for slot in range(int(bag.slots[graph])):
            copy = bag.row_ptr[nodes] + slot
            assert torch.allclose(got[copy], conv(states[copy], local))


@pytest.mark.parametrize("edges", ["none", "categorical", "real"])
@pytest.mark.parametrize("ragged", [False, True])
def test_gin_is_pygs_gin_on_every_copy(edges: str, ragged: bool) -> None:
    bag = bags()[int(ragged)]
    encoder = {"none": None, "categorical": CategoricalEdges((BONDS,), 4), "real": RealEdges(1, 4)}[edges]
    ours = GIN(nn.Linear(4, 5), nn.Identity(), nn.Linear(5, 3), encoder).double()
    with torch.no_grad():
        ours.eps.fill_(0.3)
    assert GRAPHS.edge_attr is not None
    mlp = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)).double()
    theirs = (GINConv if encoder is None else GINEConv)(mlp, eps=0.3).double()
    theirs.eps.fill_(0.3)
    mlp[0].load_state_dict(ours.lin1.state_dict())
    mlp[2].load_state_dict(ours.lin2.state_dict())
    states = torch.randn(len(bag.marks), 4, dtype=torch.float64)
    adjacency, width = bag.wide()
    edge_index = torch.stack([adjacency.source, adjacency.target])
    extra = ()
    if encoder is not None:
        term = encoder(GRAPHS.edge_attr)
        vectors = term.values if term.index is None else term.values[term.index]
        extra = (vectors[adjacency.edge],)
    got = ours(states, bag, GRAPHS.edge_attr)
    copies = states.view(adjacency.num_nodes, width, 4).unbind(1)
    wanted = torch.stack([theirs(copy, edge_index, *extra) for copy in copies], 1).flatten(0, 1)
    assert torch.allclose(got, wanted)


@pytest.mark.parametrize("conv", ["gin", "gcn", "sage", "gatv2"])
@pytest.mark.parametrize("policy", ["learned", "full", "none"])
def test_models_with_other_convolutions_train(conv: str, policy: str) -> None:
    model = small_model(policy, conv=conv)
    batch = batch_of(*molecules(4))
    model(batch).square().sum().backward()
    used = [w for name, w in model.named_parameters() if not name.startswith("policy")]
    assert all(w.grad is not None for w in used)


def test_edge_features_that_are_missing_are_asked_for() -> None:
    data = molecules(1)[0]
    data.edge_attr = None
    with raises_naming(ValueError, "'edge_attr'"):
        small_model()(data)


def test_bond_table_holds_every_combination() -> None:
    encoder = CategoricalEdges((5, 6, 2), 7)
    ids = torch.stack([torch.randint(size, (50,)) for size in (5, 6, 2)], dim=1)
    term = encoder(ids)
    assert term.values.shape == (60, 7)
    wanted = sum(table(ids[:, column]) for column, table in enumerate(encoder.tables))
    assert torch.allclose(term.values[term.index], wanted)
