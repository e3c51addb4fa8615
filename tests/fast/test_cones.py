"""At inference only the cone of a mark is computed, and nobody can tell from the outputs."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import pytest
import torch
from hypothesis import given
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from policylearn.bags import NO_PICK, Graphs, Selection
from policylearn.fast import accelerate, cones
from policylearn.fast.cones import ConeStates
from policylearn.fast.rows import Cones
from policylearn.models import SubgraphGNN
from policylearn.nn import Features
from tests.graphs import batch_of, data_of, molecules, random_graphs, small_model, symmetric_graphs


def trained(model: SubgraphGNN) -> SubgraphGNN:
    """The model with norms and scales of all kinds, as after some training."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name or "eps" in name:
                weight.add_(torch.randn(weight.shape, generator=generator, dtype=weight.dtype) / 3)
        for name, buffer in model.named_buffers():
            noise = torch.rand(buffer.shape, generator=generator, dtype=buffer.dtype)
            buffer.copy_(noise + 0.5 if "var" in name else noise - 0.5)
    return model.eval()


@torch.no_grad()
def both_ways(model: SubgraphGNN, batch: Batch, selection: Selection | None = None) -> tuple[Tensor, Tensor]:
    """Outputs computed at every node of every copy by plain torch, and by cones."""
    fast = accelerate(model)
    assert "model" in fast.acceleration.cones
    outputs = [one(batch) if selection is None else one.predict(batch, selection) for one in (model, fast)]
    return outputs[0], outputs[1]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-11)])
@pytest.mark.parametrize("policy", ["learned", "random", "full", "degree"])
@pytest.mark.parametrize("level", ["graph", "node"])
def test_outputs_are_those_of_all_nodes(policy: str, level: str, dtype: torch.dtype, tolerance: float) -> None:
    model = trained(small_model(policy, level=level, dtype=dtype))
    plain, by_cones = both_ways(model, batch_of(*molecules(30), *symmetric_graphs()))
    assert (plain - by_cones).abs().max() < tolerance * max(1.0, float(plain.abs().max()))


@pytest.mark.parametrize("pooling", ["mean", "sum", "min"])
@pytest.mark.parametrize("readout", ["mean", "sum", "both"])
@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_every_pooling_and_norm(pooling: str, readout: str, norm: str) -> None:
    changes = {"pooling": pooling, "readout": readout, "norm": norm, "dtype": torch.float64}
    model = trained(small_model("learned", picks=4, layers=2, **changes))
    plain, by_cones = both_ways(model, batch_of(*molecules(20)))
    assert torch.allclose(plain, by_cones, atol=1e-9)


def test_any_graph_and_any_picks() -> None:
    model = trained(small_model("random", picks=3, layers=2, dtype=torch.float64))

    @given(random_graphs(), random_graphs())
    def law(one: Data, two: Data) -> None:
        batch = batch_of(one, two)
        # The same root twice, no pick at all in one graph's last step, and a root that stands alone.
        second = one.num_nodes + two.num_nodes - 1
        roots = torch.tensor([[0, second], [0, one.num_nodes], [one.num_nodes - 1, NO_PICK]])
        plain, by_cones = both_ways(model, batch, Selection(roots))
        assert torch.allclose(plain, by_cones, atol=1e-9)

    law()


def test_edges_that_go_one_way_are_felt_one_way() -> None:
    data = Data(torch.zeros(5, 1).long(), torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 4, 0]]), torch.zeros(5, 1).long())
    model = trained(small_model("random", picks=1, layers=2, dtype=torch.float64, level="node"))
    for root in range(5):
        plain, by_cones = both_ways(model, batch_of(data), Selection(torch.tensor([[root]])))
        assert torch.allclose(plain, by_cones, atol=1e-9)


@pytest.mark.parametrize("edges", [Features(real=2), Features()])
def test_edges_of_other_kinds(edges: Features) -> None:
    generator = torch.Generator().manual_seed(0)
    graphs = molecules(10)
    for data in graphs:
        data.edge_attr = torch.randn(data.edge_index.shape[1], 2, generator=generator) if edges.real else None
    model = trained(small_model("full", layers=2, edge_features=edges))
    plain, by_cones = both_ways(model, batch_of(*graphs))
    assert torch.allclose(plain, by_cones, atol=1e-5)


@pytest.mark.parametrize("max_rows", [1, 50, 100000])
def test_copies_in_parts(max_rows: int) -> None:
    model = trained(small_model("full", layers=2, dtype=torch.float64, max_rows=max_rows))
    plain, by_cones = both_ways(model, batch_of(*molecules(12)))
    assert torch.allclose(plain, by_cones, atol=1e-9)


def test_few_copies_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cones, "COPIES", 20)
    model = trained(small_model("learned", picks=3, layers=3, dtype=torch.float64))
    plain, by_cones = both_ways(model, batch_of(*molecules(12), data_of(nx.path_graph(700))))
    assert torch.allclose(plain, by_cones, atol=1e-9)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_cone_is_all_within_so_many_steps(depth: int) -> None:
    graph = nx.disjoint_union(nx.random_labeled_tree(30, seed=1), nx.cycle_graph(9))
    graphs = Graphs.of(batch_of(data_of(graph)))
    roots = [4, 17, 35]
    found_cones = Cones.around(graphs.adjacency, torch.tensor(roots).unsqueeze(1), depth)
    pairs = enumerate(zip(found_cones.copy_of, found_cones.node_of, strict=True))
    found = {(int(copy), int(node)): row for row, (copy, node) in pairs}
    for copy, root in enumerate(roots):
        for node, distance in nx.single_source_shortest_path_length(graph, root).items():
            row = found.pop((copy, node), None)
            assert (row is not None) == (distance <= depth)
            if row is not None:
                assert row < found_cones.ends[distance]
                assert distance == 0 or row >= found_cones.ends[distance - 1]
    assert not found


def test_copies_with_the_same_root_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []
    around = Cones.around
    monkeypatch.setattr(Cones, "around", lambda a, roots, d: asked.append(roots.tolist()) or around(a, roots, d))
    model = accelerate(trained(small_model("random", picks=3, layers=2)))
    with torch.no_grad():
        model.predict(batch_of(data_of(nx.path_graph(6))), Selection(torch.tensor([[2], [5], [2], [2]])))
    assert asked == [[[2], [5]]]


def test_where_cones_do_not_hold_they_are_not_used() -> None:
    graphs = Graphs.of(batch_of(*molecules(3)))
    model = accelerate(small_model("learned", picks=2, layers=2))
    with torch.no_grad():
        assert ConeStates.of(model.encoder, graphs) is None  # norms take statistics of the batch
        model.eval()
        assert ConeStates.of(model.encoder, graphs) is not None
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert ConeStates.of(model.encoder, graphs) is None
    assert ConeStates.of(model.encoder, graphs) is None  # gradients are wanted


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("pooling", ["mean", "min"])
def test_inference_mode_with_threads(pooling: str, two_threads: None) -> None:
    model = accelerate(trained(small_model("learned", picks=2, layers=2, pooling=pooling)))
    batch = batch_of(*molecules(80))
    with torch.no_grad():
        expected = model(batch)
    with torch.inference_mode():
        assert torch.equal(model(batch), expected)


def test_dropout_that_was_left_on_drops() -> None:
    """As it is left on to see how much an output varies."""
    model = accelerate(trained(small_model("full", layers=2)))
    batch = batch_of(*molecules(5))
    for layer in model.encoder.layers:
        layer.dropout.p = 0.5
        layer.dropout.train()
    with torch.no_grad():
        assert not torch.equal(model(batch), model(batch))


@pytest.mark.parametrize("place", ["inputs", "edges", "edge count"])
def test_what_does_not_fit_is_refused(place: str) -> None:
    """Compiled loops would read what lies behind an array."""
    batch = batch_of(*molecules(5))
    model = accelerate(trained(small_model("full", layers=2, edge_features=Features(real=1))))
    conv, count = model.encoder.layers[0].features.conv, batch.edge_index.shape[1]
    if place == "inputs":
        conv.lin1 = nn.Linear(conv.lin1.in_features + 3, conv.lin1.out_features)
        conv.edges.linear = nn.Linear(1, conv.lin1.in_features)
    if place == "edges":
        conv.edges.linear = nn.Linear(1, 2)
    if place == "edge count":
        batch.edge_attr = batch.edge_attr[: count // 2]
    with torch.no_grad(), pytest.raises((ValueError, RuntimeError), match=r"edge encoder|'edge_attr'|shapes"):
        model(batch)
