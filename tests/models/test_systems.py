"""Laws that every published system obeys, and the corners of the data that none may fall over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from policylearn.bags import Graphs, Selection
from policylearn.data import make_batch, pack_pyg
from policylearn.data.transforms import Transform, apply, fit_apply
from policylearn.models import SYSTEMS, Inputs, SubgraphGNN
from policylearn.nn import Features
from tests.errors import raises_naming
from tests.graphs import ATOMS, BONDS, batch_of, data_of, molecules, permuted

SMALL: dict[str, Any] = {"layers": 2, "channels": 8, "dropout": 0.0}
"""Settings of every system that has them; `OWN` holds what single ones need besides."""
OWN: dict[str, dict[str, Any]] = {
    "gin-pe": {"encoding_channels": 2, "walk_steps": 6, "eigenvectors": 3},
    "hymn": {"centrality_channels": 3, "terms": 6, "picks": 2},
    "pna": {"channels": 10, "edge_channels": 4},
    "policy-learn": {"prediction": SMALL},
}
DRAWN_IN_EVALUATION = ("random-ds-gnn", "random-dss-gnn", "osan", "random-osan", "reconstruction")
CARRIED = {"gin-pe": ("laplacian_encoding",)}
"""Structures that depend on the order of nodes, and are carried along when it changes: signs of eigenvectors."""
FOR_NODES = ("hymn", "policy-learn")

names = pytest.mark.parametrize("name", SYSTEMS)


def corners() -> dict[str, list[Data]]:
    """Batches, by what is particular about them."""
    generator = torch.Generator().manual_seed(0)
    ring_and_tail = nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(3))
    isolated = nx.disjoint_union(nx.cycle_graph(4), nx.empty_graph(2))
    graphs = {
        "one node": [nx.empty_graph(1)],
        "one node beside others": [nx.empty_graph(1), nx.cycle_graph(6), nx.path_graph(4)],
        "no edge in the batch": [nx.empty_graph(1), nx.empty_graph(3)],
        "no ring in the batch": [nx.path_graph(4), nx.star_graph(4), nx.path_graph(2)],
        "no triangle in the batch": [nx.cycle_graph(6), nx.path_graph(3)],
        "one edge in the batch": [nx.path_graph(2), nx.empty_graph(2)],
        "one ring in the batch": [nx.cycle_graph(3), nx.path_graph(5)],
        "some graph without an edge": [nx.cycle_graph(5), nx.empty_graph(3), nx.petersen_graph()],
        "disconnected": [ring_and_tail, nx.cycle_graph(5)],
        "isolated nodes": [isolated, nx.complete_graph(4)],
    }
    return {name: [data_of(graph, generator) for graph in batch] for name, batch in graphs.items()}


@dataclass(frozen=True)
class Prepared:
    """A small model of a system, and its transforms as the training graphs left them."""

    model: Any
    transforms: Sequence[Transform]

    def batch(self, graphs: Sequence[Data]) -> Batch:
        with_targets = [
            Data(x=one.x, edge_index=one.edge_index, edge_attr=one.edge_attr, y=torch.zeros(1, 1)) for one in graphs
        ]
        packed = apply(self.transforms, pack_pyg(with_targets))
        return make_batch(packed, range(len(graphs)))


def training_graphs() -> list[Data]:
    rings = [data_of(nx.gnp_random_graph(9, 0.3, seed=seed), torch.Generator().manual_seed(seed)) for seed in range(6)]
    return [*molecules(4), *rings]


def prepare(name: str, *, seed: int = 0) -> Prepared:
    system = SYSTEMS[name]
    known = system.settings.__struct_fields__
    settings = system.read({k: v for k, v in (SMALL | OWN.get(name, {})).items() if k in known})
    inputs = Inputs(Features((ATOMS,)), Features((BONDS,)))
    specs = [Transform.from_json({"name": kind, **given}) for kind, given in system.transforms(settings, inputs)]
    graphs = pack_pyg(
        [Data(x=d.x, edge_index=d.edge_index, edge_attr=d.edge_attr, y=torch.zeros(1, 1)) for d in training_graphs()]
    )
    fitted, _ = fit_apply(specs, graphs, range(len(graphs)))
    learned = {one.name: {field: getattr(one, field) for field in one.learned} for one in fitted}
    torch.manual_seed(seed)
    model = system.build(settings, Inputs(inputs.node_features, inputs.edge_features, learned=learned))
    assert isinstance(model, nn.Module)
    with torch.no_grad():
        for key, value in model.state_dict().items():
            if "running" in key:
                value.copy_(torch.rand_like(value) + 0.5)
    return Prepared(model.double(), fitted)


def drawn(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def close(a: Tensor, b: Tensor, tolerance: float = 1e-6) -> None:
    """Encodings are stored in single precision, and their rounding differs with the order of nodes."""
    assert a.shape == b.shape
    assert (a - b).abs().max() <= tolerance * max(1.0, float(b.abs().max()))


def absolute_loss(outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (outputs - y).abs(), torch.ones_like(outputs, dtype=torch.bool)


@names
def test_order_of_nodes_does_not_matter(name: str) -> None:
    prepared = prepare(name)
    model = prepared.model.eval()
    if name in DRAWN_IN_EVALUATION:
        pytest.skip("picks are drawn by node ids")
    for seed, data in enumerate([*training_graphs()[:8], *(graph for batch in corners().values() for graph in batch)]):
        order = torch.randperm(data.num_nodes, generator=drawn(seed))
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order))
        before, after = prepared.batch([data]), prepared.batch([permuted(data, order)])
        for structure in CARRIED.get(name, ()):
            after[structure] = before[structure][order]
        with torch.no_grad():
            if isinstance(model, SubgraphGNN):  # ties between nodes of one score go by their ids
                roots = model.select(before).roots
                close(model.predict(after, Selection(place[roots])), model.predict(before, Selection(roots)))
            else:
                close(model(after), model(before))


@names
def test_a_graph_alone_and_in_company(name: str) -> None:
    prepared = prepare(name)
    model = prepared.model.eval()
    assert not model.depends_on_batch  # where picks are drawn, that is by a seed and the graph's own edges
    company = training_graphs()
    with torch.no_grad():
        for batch in corners().values():
            together = model(prepared.batch([*batch, *company]))[: len(batch)]
            alone = torch.cat([model(prepared.batch([one])) for one in batch])
            close(together, alone, 1e-9)


@names
def test_training_steps_on_corners(name: str) -> None:
    prepared = prepare(name)
    for kind, batch in corners().items():
        model, graphs = prepared.model.train(), prepared.batch(batch)
        model.zero_grad()
        y = torch.linspace(-1, 1, len(batch), dtype=torch.float64).unsqueeze(1)
        step = model.objective(graphs, y, absolute_loss, generator=drawn())
        step.loss.backward()
        assert step.costs.shape == (len(batch),), kind
        assert torch.isfinite(step.loss), kind
        for key, weight in model.named_parameters():
            assert weight.grad is None or torch.isfinite(weight.grad).all(), (kind, key)
        for key, value in model.state_dict().items():
            assert torch.isfinite(value).all(), (kind, key)


@names
def test_every_weight_learns(name: str) -> None:
    """Two steps (of agent and predictor, where each has its own) move each weight that the official code uses."""
    prepared = prepare(name)
    graphs = training_graphs()
    y = torch.linspace(-1, 1, len(graphs), dtype=torch.float64).unsqueeze(1)
    for _ in range(2):
        prepared.model.train().objective(prepared.batch(graphs), y, absolute_loss, generator=drawn()).loss.backward()
    learning = {key: weight for key, weight in prepared.model.named_parameters() if weight.requires_grad}
    still = {key for key, weight in learning.items() if weight.grad is None}
    assert all("dim2.message" in key for key in still), still


@names
def test_the_same_seed_gives_the_same_answer(name: str) -> None:
    prepared = prepare(name)
    batch = prepared.batch(training_graphs())
    with torch.no_grad():
        first, second = (prepared.model.eval()(Graphs.of(batch), generator=drawn(3)) for _ in range(2))
    assert torch.equal(first, second)


@names
def test_tasks_of_nodes_are_built_or_refused(name: str) -> None:
    system = SYSTEMS[name]
    inputs = Inputs(Features((ATOMS,)), Features((BONDS,)), level="node")
    if name in FOR_NODES:
        assert system.build(system.settings(), inputs).readout.level == "node"
        return
    with raises_naming(ValueError, "node"):
        system.build(system.settings(), inputs)


def test_a_ring_in_single_precision() -> None:
    """Taking one's own message away from the sum of a long ring costs no accuracy that shows."""
    prepared = prepare("cin")
    ring = [data_of(nx.cycle_graph(18), drawn()), data_of(nx.cycle_graph(5), drawn(1))]
    batch = prepared.batch(ring)
    with torch.no_grad():
        exact = prepared.model.eval()(batch)
        rough = prepared.model.float()(batch)
    close(rough.double(), exact, 1e-4)


def test_batches_of_pygs_own_collation_lack_structures_and_say_so() -> None:
    prepared = prepare("cin")
    with raises_naming(ValueError, "'cells'"):
        prepared.model(batch_of(*molecules(2)))
