"""Nodes with the same features are computed once only where nothing else tells them apart, now and not a call ago."""

from __future__ import annotations

import copy
from dataclasses import replace

import networkx as nx
import pytest
import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Graphs, Selection, mark_nodes
from policylearn.fast import accelerate
from policylearn.models import SubgraphGNN
from policylearn.nn import Features, NodeEncoder
from tests.errors import raises_naming
from tests.graphs import ATOMS, BONDS, batch_of, data_of, molecules, small_model


def both(policy: str = "random", dtype: torch.dtype = torch.float64, **changes: object) -> list[SubgraphGNN]:
    """A plain model, and its twin with weights of its own."""
    plain = small_model(policy, dtype=dtype, **changes).train()
    return [plain, accelerate(copy.deepcopy(plain))]


def marked(graphs: Graphs, **changes: object) -> Bag:
    """The first node of every graph is marked."""
    return mark_nodes(graphs, Selection(graphs.ptr[:-1].unsqueeze(0)), **{"dtype": torch.float64} | changes)


def backward(states: Tensor) -> None:
    (states * torch.arange(states.numel(), dtype=states.dtype).view_as(states).cos()).sum().backward()


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("policy", ["random", "none"])
@pytest.mark.parametrize("beside", [False, True])
def test_each_node_has_a_gradient_of_its_own(norm: str, policy: str, beside: bool) -> None:
    """Numbers of nodes that are alike, in ``x`` or beside ids: saliency maps ask for their gradients."""
    features = Features((ATOMS,), 1) if beside else Features(real=1)
    found = []
    for model in both(policy, norm=norm, node_features=features):
        graphs = Graphs.of(batch_of(*molecules(5), data_of(nx.cycle_graph(8))))
        numbers = (graphs.x % 2).double().requires_grad_()
        graphs = replace(graphs, real=numbers) if beside else replace(graphs, x=numbers)
        backward(model.encoder(graphs, marked(graphs)))
        found.append(numbers.grad)
    assert torch.allclose(*found, atol=1e-8)


@pytest.mark.parametrize("policy", ["random", "none", "learned", "full"])
@pytest.mark.parametrize("inference", [True, False])
def test_changes_without_a_version_are_seen(policy: str, inference: bool) -> None:
    """A tensor made in inference mode has no version, and a change through ``.data`` leaves it as it is."""
    models = [model.eval() for model in both(policy)]
    with torch.inference_mode(inference), torch.no_grad():
        first = Graphs.of(batch_of(*molecules(6)))
        assert first.edge_attr is not None
        graphs = replace(first, x=torch.zeros_like(first.x), edge_attr=torch.zeros_like(first.edge_attr))
        for changed, count in ((graphs.x, ATOMS), (graphs.edge_attr, BONDS)):
            assert torch.allclose(*(model(graphs) for model in models), atol=1e-10)
            assert changed is not None
            own = changed if inference else changed.data
            own.copy_(torch.arange(len(own)).unsqueeze(1) % count)
        assert torch.allclose(*(model(graphs) for model in models), atol=1e-10)


def numbered(graphs: Graphs) -> Graphs:
    return replace(graphs, x=torch.arange(graphs.num_nodes).unsqueeze(1) % ATOMS)


class PlacedEmbedding(nn.Embedding):
    """One that looks at where a node stands."""

    def forward(self, ids: Tensor) -> Tensor:
        """Ids to vectors."""
        return super().forward(ids) * torch.arange(len(ids)).unsqueeze(1)


@pytest.mark.parametrize("who", ["input hook", "layer hook", "table"])
def test_somebody_else_has_a_hand_in_it(who: str) -> None:
    graphs = Graphs.of(batch_of(*molecules(6)))
    states, outputs = [], []
    for model in both(norm="layer"):
        encoder = model.encoder
        if who == "input hook":
            encoder.node_encoder.register_forward_pre_hook(lambda _, given: (numbered(given[0]),))
        elif who == "layer hook":
            encoder.layers[1].register_forward_hook(lambda _, given, new: (2 * new[0], new[1]))
        else:
            weight = encoder.node_encoder.tables[0].weight
            encoder.node_encoder.tables[0] = PlacedEmbedding(*weight.shape, _weight=weight.detach())
        states.append(encoder(graphs, marked(graphs)).detach())
        with torch.no_grad():
            outputs.append(model.eval().predict(graphs, Selection(graphs.ptr[:-1].unsqueeze(0))))
    assert torch.allclose(*states, atol=1e-8)
    assert torch.allclose(*outputs, atol=1e-8)


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_a_hook_sees_the_gradient_of_each_node() -> None:
    graphs = Graphs.of(batch_of(*molecules(6)))
    seen: list[Tensor] = []
    for model in both(norm="layer"):
        table = model.encoder.node_encoder.tables[0]
        table.register_full_backward_pre_hook(lambda _, gradients: seen.append(gradients[0]))
        backward(model.encoder(graphs, marked(graphs)))
    assert torch.allclose(*seen, atol=1e-8)


@pytest.mark.parametrize("policy", ["random", "none"])
def test_features_of_another_width_or_precision(policy: str) -> None:
    graphs = Graphs.of(batch_of(*molecules(6)))
    models = both(policy, norm="layer")
    for model in models:
        model.encoder.node_encoder.float()
    states = [model.encoder(graphs, marked(graphs)) for model in models]
    assert states[1].dtype == torch.float64
    assert torch.allclose(*states, atol=1e-8)
    models[1].encoder.node_encoder = NodeEncoder(Features((ATOMS,)), 20).double()
    with raises_naming(ValueError, "edge vectors"):
        models[1].encoder(graphs, marked(graphs))


def test_numbers_in_a_precision_that_numpy_does_not_know() -> None:
    graphs = Graphs.of(batch_of(*molecules(6)))
    graphs = replace(graphs, x=graphs.x.bfloat16())
    states = [one.encoder(graphs, marked(graphs)) for one in both(norm="layer", node_features=Features(real=1))]
    assert torch.allclose(*states, atol=1e-8)


@pytest.mark.parametrize("nodes", [1, 3])
def test_statistics_know_nothing_of_rows_that_are_not_in_the_bag(nodes: int) -> None:
    """Without slot 0 the unmarked graph counts for nothing, and among marked rows that are alike it lies far off.

    A norm over rows that are all alike multiplies their rounding by 300, so there is one layer only.
    """
    graphs = Graphs.of(batch_of(*(data_of(nx.complete_graph(nodes)) for _ in range(40))))
    models = both(dtype=torch.float32, norm="batch", layers=1)
    exact = copy.deepcopy(models[0].encoder).double()(graphs, marked(graphs, unmarked=False))
    bag = marked(graphs, unmarked=False, dtype=torch.float32)
    plain, fast = ((model.encoder(graphs, bag) - exact).abs().max() for model in models)
    assert plain < 0.1
    assert fast < 0.1
    more = models[0].encoder(graphs, marked(graphs, dtype=torch.float32))[bag.num_rows :]
    assert (more - exact).abs().max() > 0.5  # what the rows would be if the unmarked ones counted


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_of_nodes_that_are_all_alike_stay_small(dtype: torch.dtype) -> None:
    """Without marks all outputs of CSL graphs are the same; norms blow up what does not cancel in plain layers."""
    batch = batch_of(*(data_of(nx.circulant_graph(41, [1, skip])) for skip in (2, 3, 4, 5, 6, 9)))
    model = accelerate(small_model("none", dtype=dtype, layers=6, channels=16)).train()
    y = torch.linspace(-1, 1, 6, dtype=dtype).view(-1, 1)
    model.objective(batch, y, lambda out, y: ((out - y).abs(), torch.ones_like(y, dtype=torch.bool))).loss.backward()
    for name, weight in model.encoder.named_parameters():
        assert weight.grad is not None
        assert weight.grad.norm() < 1e-3, name
