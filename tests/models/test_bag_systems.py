"""DS-GNN, DSS-GNN, SUN and OSAN in all their forms: laws, corners, limits and published sizes."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from policylearn.bags import Graphs, RowLimitError, Selection
from policylearn.models import SYSTEMS, Inputs, build_model
from policylearn.models.systems.osan import OSAN, uneven_masks
from policylearn.nn import Features
from tests.errors import raises_naming
from tests.graphs import ATOMS, BONDS, batch_of, data_of, molecules, permuted

SMALL: dict[str, Any] = {"layers": 2, "channels": 8, "set_channels": (6, 6), "picks": 3, "votes": 1, "dropout": 0.0}
FORMS: list[tuple[str, dict[str, Any]]] = [
    *(("ds-gnn", {"form": form, "bag": bag}) for form in ("zinc", "ogb", "tu") for bag in ("ego+", "deleted")),
    *(("dss-gnn", {"bag": bag}) for bag in ("ego", "deleted", "marked")),
    ("sun", {"form": "zinc", "pointwise_mlp": True, "copy_readout": True, "residual": False}),
    *(("osan", {"form": form, "keep": keep}) for form in ("zinc", "ogb", "alchemy") for keep in (-1, 3)),
    ("osan", {"form": "zinc", "remove_rows": False}),
    ("osan", {"ordered": True, "order_size": 24}),
    *(
        ("random-osan", {"form": form, "remove_rows": remove})
        for form in ("zinc", "alchemy")
        for remove in (True, False)
    ),
    ("random-ds-gnn", {"form": "tu"}),
    ("random-dss-gnn", {"bag": "marked"}),
]
IDS = [f"{name}-{'-'.join(map(str, chosen.values()))}" for name, chosen in FORMS]
forms = pytest.mark.parametrize(("name", "chosen"), FORMS, ids=IDS)
MOLECULES = Inputs(Features((ATOMS,)), Features((BONDS,)))
NOTHING = Inputs()


def build(name: str, chosen: dict[str, Any], inputs: Inputs = MOLECULES) -> Any:
    system = SYSTEMS[name]
    known = system.settings.__struct_fields__
    torch.manual_seed(0)
    model = system.build(system.read({k: v for k, v in (SMALL | chosen).items() if k in known}), inputs)
    assert isinstance(model, nn.Module)
    with torch.no_grad():
        for key, value in model.state_dict().items():
            if "running" in key:
                value.copy_(torch.rand_like(value) + 0.5)
    return model.double()


def corners() -> list[Data]:
    kinds = [nx.empty_graph(1), nx.empty_graph(3), nx.path_graph(2), nx.star_graph(4), nx.cycle_graph(6)]
    kinds += [nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(3))]
    kinds += [nx.disjoint_union(nx.cycle_graph(4), nx.empty_graph(2))]
    return [data_of(graph, torch.Generator().manual_seed(seed)) for seed, graph in enumerate(kinds)]


def absolute_loss(outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (outputs - y).abs(), torch.ones_like(outputs, dtype=torch.bool)


def close(a: Tensor, b: Tensor) -> None:
    assert a.shape == b.shape
    assert torch.isfinite(b).all()
    assert (a - b).abs().max() <= 1e-9 * max(1.0, float(b.abs().max()))


@forms
@torch.no_grad()
def test_a_graph_alone_and_in_company(name: str, chosen: dict[str, Any]) -> None:
    """Drawn copies and masks too: what is drawn in evaluation belongs to the seed and the graph."""
    model = build(name, chosen | {"votes": 3}).eval()
    assert not model.depends_on_batch
    graphs = [*corners(), *molecules(5)]
    close(model(batch_of(*graphs)), torch.cat([model(batch_of(one)) for one in graphs]))


@forms
@torch.no_grad()
def test_order_of_nodes_does_not_matter(name: str, chosen: dict[str, Any]) -> None:
    model = build(name, chosen).eval()
    for seed, data in enumerate([*corners(), *molecules(5)]):
        order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(seed))
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        before, after = Graphs.of(batch_of(data)), Graphs.of(batch_of(permuted(data, order)))
        if name.startswith("random-ds"):
            roots = model.policy(before).roots
            close(model.predict(after, Selection(place[roots])), model.predict(before, Selection(roots)))
        elif name == "random-osan":
            (mask,) = model.draw(before, 1, None)
            close(model.predict(after, mask[order]), model.predict(before, mask))
        elif not chosen.get("ordered"):  # places among nodes of one score go by their ids
            close(model(after), model(before))


@forms
@pytest.mark.parametrize("inputs", [MOLECULES, NOTHING], ids=["molecules", "no features"])
def test_training_steps_on_corners(name: str, chosen: dict[str, Any], inputs: Inputs) -> None:
    model = build(name, chosen, inputs).train()
    for graphs in (corners(), corners()[:1], corners()[:2], molecules(4)):
        model.zero_grad()
        step = model.objective(batch_of(*graphs), torch.ones(len(graphs), 1).double(), absolute_loss)
        step.loss.backward()
        assert torch.isfinite(step.loss)
        for key, weight in model.named_parameters():
            assert weight.grad is None or torch.isfinite(weight.grad).all(), key
        for key, value in model.state_dict().items():
            assert torch.isfinite(value).all(), key


@pytest.mark.parametrize("name", ["ds-gnn", "dss-gnn", "sun"])
def test_more_rows_than_allowed_are_refused_before_they_are_allocated(name: str) -> None:
    model = build(name, {"max_rows": 50})
    batch = batch_of(*molecules(5))
    with pytest.raises(RowLimitError):
        model.train()(batch)
    with torch.no_grad():
        if name == "ds-gnn":  # copies do not see each other until they are vectors
            close(model.eval()(batch), build(name, {}).eval()(batch))
        else:
            with pytest.raises(RowLimitError):
                model.eval()(batch)


def test_a_graph_of_one_node_keeps_it_in_every_vote() -> None:
    """The authors' standard deviation of one score is NaN, and so is their prediction."""
    model = build("osan", {"votes": 5})
    assert isinstance(model, OSAN)
    graphs = Graphs.of(batch_of(corners()[0]))
    votes = model.eval().votes(graphs)
    assert votes.shape == (5, 1, 1)
    assert torch.isfinite(votes).all()
    assert torch.equal(votes[:1].expand_as(votes), votes)
    assert model.solve(model.scorer(graphs), graphs).eq(1).all()


def test_the_masks_loss_is_zero_where_all_nodes_are_kept_equally_often() -> None:
    graphs = Graphs.of(batch_of(*molecules(3)))
    assert float(uneven_masks(torch.ones(graphs.num_nodes, 4).double(), graphs)) == pytest.approx(0, abs=1e-12)
    uneven = torch.ones(graphs.num_nodes, 4).double()
    uneven[0] = 0
    assert float(uneven_masks(uneven, graphs)) > 1e-3


def test_copies_drawn_in_training_change_and_those_in_evaluation_stay() -> None:
    model, graphs = build("random-osan", {}), Graphs.of(batch_of(*molecules(4)))
    first, second = (model.train().draw(graphs, 1, None)[0] for _ in range(2))
    assert not torch.equal(first, second)
    kept = [model.eval().draw(graphs, 1, None)[0] for _ in range(2)]
    assert torch.equal(kept[0], kept[1])
    other = build("random-osan", {"seed": 1}).eval().draw(graphs, 1, None)[0]
    assert not torch.equal(kept[0], other)


def test_a_copy_that_keeps_more_nodes_than_there_are_places_is_refused() -> None:
    model = build("osan", {"ordered": True, "order_size": 3})
    with raises_naming(ValueError, "'order_size'"):
        model(batch_of(data_of(nx.cycle_graph(6))))


ZINC = Inputs(Features((21,)), Features((4,)))
TU_ZINC = Inputs(Features((28,)), Features((3,)))
OGB = Inputs(Features((119, 5, 12, 12, 10, 6, 6, 2, 2)), Features((5, 6, 2)))
OGB12 = Inputs(OGB.node_features, OGB.edge_features, outputs=12)
ALCHEMY = Inputs(Features((6,)), Features((4,)), outputs=12)
TU = Inputs(Features(), Features())
DS_ZINC = {"form": "zinc", "hops": 3, "layers": 4, "channels": 64, "jumping": "concat", "dropout": 0.0}
DSS_ZINC = {"form": "zinc", "hops": 3, "layers": 4, "channels": 64}
SUN_ZINC = {"form": "zinc", "layers": 6, "pointwise_mlp": True, "copy_readout": True, "residual": False, "dropout": 0.0}
SIZES: list[tuple[str, dict[str, Any], Inputs, int, int]] = [
    ("ds-gnn", DS_ZINC | {"set_channels": (96,)}, ZINC, 95_949, 0),
    ("ds-gnn", DS_ZINC | {"set_channels": (96, 96)}, ZINC, 114_573, 0),
    ("ds-gnn", DS_ZINC | {"set_channels": (96,), "bag": "ego"}, ZINC, 95_621, 0),
    ("ds-gnn", {}, OGB, 1_909_984, 0),
    ("ds-gnn", {"set_channels": (64, 64)}, OGB12, 1_943_147, 0),
    ("dss-gnn", DSS_ZINC, ZINC, 80_729, 0),
    ("dss-gnn", {}, OGB12, 3_908_474, 0),
    ("dss-gnn", {"form": "tu", "layers": 4, "channels": 32}, TU, 18_241, 0),
    ("sun", SUN_ZINC, ZINC, 527_225, 0),
    ("sun", SUN_ZINC | {"bag": "ego"}, ZINC, 525_913, 0),
    ("osan", {"form": "zinc", "picks": 2, "layers": 4, "channels": 256}, TU_ZINC, 804_045, 210_948),
    ("osan", {}, OGB, 1_885_506, 696_620),
    ("osan", {"form": "alchemy", "layers": 6, "channels": 64}, ALCHEMY, 123_268, 15_700),
]


@pytest.mark.parametrize(("name", "chosen", "inputs", "prediction", "selection"), SIZES)
def test_published_sizes(name: str, chosen: dict[str, Any], inputs: Inputs, prediction: int, selection: int) -> None:
    """The pages' numbers of weights, but for the scores of edges in OSAN's scorer, which node policies never read."""
    model: Any = build_model(name, chosen, inputs)
    apart = sum(weight.numel() for weight in getattr(model, "selection_parameters", list)())
    assert sum(weight.numel() for weight in model.parameters()) - apart == prediction
    if selection:
        channels, copies = model.settings.channels, model.settings.picks
        edge_update, edge_norm, edge_out = channels * (channels + 1), 2 * channels, copies * (channels + 1)
        assert selection - apart == edge_update + edge_norm + edge_out
