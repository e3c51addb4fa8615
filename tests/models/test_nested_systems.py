"""GNN-AK, GNN-SSWL, NGNN and Reconstruction GNN: published sizes, limits, inputs of any kind, what they tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from policylearn.bags import RowLimitError
from policylearn.data import make_batch, pack_pyg
from policylearn.data.transforms import Transform, apply
from policylearn.models import SYSTEMS, Inputs, build_model
from policylearn.nn import Features
from policylearn.settings import ConfigError
from tests.errors import raises_naming
from tests.graphs import ATOMS, BONDS, batch_of, data_of, molecules, permuted

NAMES = ("gnn-ak", "gnn-ak-plus", "gnn-sswl", "gnn-sswl-plus", "ngnn", "ngnn-zinc", "ngnn-sun", "reconstruction")
names = pytest.mark.parametrize("name", NAMES)
ZINC = Inputs(Features((28,)), Features((4,)))
OGB = Inputs(Features((119, 5, 12, 12, 10, 6, 6, 2, 2)), Features((5, 6, 2)))
MOLHIV = {"channels": 128, "layers": 2, "parts": ("centroid", "context"), "combine": "add", "pool": "mean"}
SMALL = Inputs(Features((ATOMS,)), Features((BONDS,)))


class Small:
    """A small model of a system in double precision, and batches as its transforms make them."""

    def __init__(self, name: str, inputs: Inputs = SMALL, **changes: Any) -> None:
        system = SYSTEMS[name]
        settings = system.read({"layers": 2, "channels": 8} | changes)
        torch.manual_seed(0)
        self.model: Any = system.build(settings, inputs)
        assert isinstance(self.model, nn.Module)
        self.model.double().eval()
        specs = system.transforms(settings, inputs)
        self.transforms = [Transform.from_json({"name": kind, **given}) for kind, given in specs]

    def batch(self, graphs: Sequence[Data]) -> Batch:
        packed = pack_pyg([Data(**{**one.to_dict(), "y": torch.zeros(1, 1)}) for one in graphs])
        return make_batch(apply(self.transforms, packed), range(len(graphs)))

    def __call__(self, *graphs: Data) -> Tensor:
        with torch.no_grad():
            out: Tensor = self.model(self.batch(graphs))
        return out


@pytest.mark.parametrize(
    ("name", "inputs", "settings", "weights"),
    [
        ("gnn-ak", ZINC, {}, 521_095),
        ("gnn-ak", ZINC, {"channels": 124}, 489_435),
        ("gnn-ak-plus", ZINC, {}, 924_679),
        ("gnn-ak-plus", ZINC, {"channels": 90}, 484_297),
        ("gnn-sswl", ZINC, {}, 272_653),
        ("gnn-sswl-plus", ZINC, {}, 385_555),
        ("gnn-ak-plus", OGB, MOLHIV, 207_139),
        ("ngnn", OGB, {}, 4_068_307),
        # The published 294,091 without 95 of 100 labels of each layer, 72 types of nodes and one of edges: none occurs.
        ("ngnn-zinc", ZINC, {}, 294_091 - 95 * (9 + 5 * 64) - 72 * 8 - (18 + 5 * 128)),
        ("reconstruction", Inputs(outputs=3), {}, 1_359_313),
        ("reconstruction", Inputs(outputs=3), {"base": "gcn"}, 1_180_503),
        ("ngnn-sun", Inputs(Features((21,)), Features((4,))), {}, 457_543),
        ("ngnn-sun", Inputs(Features((21,)), Features((4,))), {"channels": 128}, 1_816_199),
    ],
)
def test_networks_are_as_large_as_published(name: str, inputs: Inputs, settings: dict[str, Any], weights: int) -> None:
    model = build_model(name, settings, inputs)
    assert sum(weight.numel() for weight in model.parameters()) == weights


@names
def test_too_many_rows_are_refused_with_the_number_and_the_way_out(name: str) -> None:
    graphs = [data_of(nx.cycle_graph(12)), data_of(nx.complete_graph(5))]
    with raises_naming(RowLimitError, "'max_rows'", "50"):
        Small(name, max_rows=50)(*graphs)
    Small(name, max_rows=12 * 12 + 5 * 5)(*graphs)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("ngnn-sun", "reconstruction")])
def test_a_batch_without_structures_says_which_transform_it_lacks(name: str) -> None:
    small = Small(name)
    with pytest.raises(ValueError, match=small.transforms[0].name):
        small.model(batch_of(*molecules(2)))


@names
def test_one_wl_is_not_the_limit(name: str) -> None:
    """Two triangles and a hexagon are one to an ordinary network."""
    two = data_of(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))
    hexagon = data_of(nx.cycle_graph(6))
    small = Small(name, layers=3)
    before, after = small(two, hexagon)
    assert (before - after).abs().max() > 1e-6
    if name == "gnn-ak":
        one_step = Small(name, layers=3, hops=0)
        before, after = one_step(two, hexagon)
        assert (before - after).abs().max() < 1e-12, "a net of one node tells nothing"


@names
@pytest.mark.parametrize("kind", ["nothing", "numbers", "several columns", "categories and numbers"])
def test_features_of_any_kind(name: str, kind: str) -> None:
    graphs = molecules(3)
    generator = torch.Generator().manual_seed(0)
    inputs = {
        "nothing": Inputs(outputs=2),
        "numbers": Inputs(Features(real=3), Features(real=2), outputs=2),
        "several columns": Inputs(Features((ATOMS, 4)), Features((BONDS, 2)), outputs=2),
        "categories and numbers": Inputs(Features((ATOMS,), real=2), Features((BONDS,)), outputs=2),
    }[kind]
    small = Small(name, inputs)
    batch = small.batch(graphs)
    nodes, edges = batch.num_nodes, batch.num_edges
    if kind == "nothing":
        batch.x, batch.edge_attr = torch.ones(nodes, 1), None
    if kind == "numbers":
        batch.x, batch.edge_attr = (
            torch.randn(nodes, 3, generator=generator),
            torch.randn(edges, 2, generator=generator),
        )
    if kind == "several columns":
        batch.x = torch.cat([batch.x, torch.randint(4, (nodes, 1), generator=generator)], dim=1)
        batch.edge_attr = torch.cat([batch.edge_attr, torch.randint(2, (edges, 1), generator=generator)], dim=1)
    if kind == "categories and numbers":
        batch.x_real = torch.randn(nodes, 2, generator=generator)
    with torch.no_grad():
        output = small.model(batch)
        assert output.shape == (3, 2)
        assert torch.isfinite(output).all()
        batch.x = batch.x.flip(0)
        assert torch.equal(small.model(batch), output) == (kind == "nothing"), "the features are read"


@pytest.mark.parametrize("name", ["gnn-sswl", "gnn-sswl-plus"])
def test_pairs_without_a_path_count_as_far_apart(name: str) -> None:
    """Where the official code stops: an edge between components that lies beyond the cap changes nothing else."""
    small = Small(name, cap=2)
    apart = small.batch([data_of(nx.disjoint_union(nx.path_graph(3), nx.path_graph(2)))])
    assert apart.pair_distance.view(5, 5)[0].tolist() == [0, 1, 2, 2, 2]
    with torch.no_grad():
        assert torch.isfinite(small.model(apart)).all()


def test_a_whole_deck_knows_no_order_and_no_company() -> None:
    small = Small("reconstruction", removed=2)
    for seed, data in enumerate(molecules(4, seed=5)):
        order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(seed))
        company = molecules(3, seed=50 + seed)
        alone = small(data)
        assert (small(permuted(data, order)) - alone).abs().max() < 1e-10
        assert (small(*company, data)[-1:] - alone).abs().max() < 1e-10


def test_a_drawn_deck_is_the_same_in_any_company() -> None:
    small = Small("reconstruction", removed=2, deck_size=3)
    data, *company = molecules(5, seed=5)
    assert (small(*company, data)[-1:] - small(data)).abs().max() < 1e-10
    other = Small("reconstruction", removed=2, deck_size=3, seed=1)
    assert (other(data) - small(data)).abs().max() > 1e-8


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError):
        build_model("gnn-ak-plus", {"hops": 19})
