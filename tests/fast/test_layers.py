"""A compiled layer gives what the plain one gives, forward and backward, whatever norms, edges and copies are."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch import Tensor, nn
from torch.autograd import gradcheck

from policylearn.bags import Adjacency, Bag
from policylearn.fast import layers as twins
from policylearn.fast.layers import twin_of, why_not
from policylearn.nn import (
    GIN,
    CategoricalEdges,
    RealEdges,
    RowLayerNorm,
    SingleStreamLayer,
    StreamLayer,
    TwoStreamLayer,
    build_norm,
)
from tests.errors import raises_naming

CHANNELS = 6
Layer = TwoStreamLayer | SingleStreamLayer


def bag_of(edge_index: Tensor, copies: list[int]) -> Bag:
    """So many copies of each node."""
    count = torch.tensor(copies)
    row_ptr = torch.cat([count.new_zeros(1), count.cumsum(0)])
    width = copies[0] if len(set(copies)) == 1 else None
    adjacency = Adjacency.of(edge_index, len(copies))
    none = torch.zeros(1, 1).long()
    return Bag(
        torch.zeros(int(row_ptr[-1]), 1), row_ptr, none[0], none, torch.zeros(len(copies)).long(), adjacency, width
    )


@st.composite
def bags(draw: st.DrawFn) -> Bag:
    """Any multigraph (duplicate edges, loops, isolated nodes), made twice so that copies can differ in number."""
    nodes = draw(st.integers(1, 8))
    ids = st.integers(0, nodes - 1)
    edges = torch.tensor(draw(st.lists(st.tuples(ids, ids), max_size=20)), dtype=torch.long).reshape(-1, 2).t()
    first, second = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    return bag_of(torch.cat([edges, edges + nodes], dim=1), [first] * nodes + [second] * nodes)


def build_layer(norm: str, edges: str, marks: int, *, residual: bool = True, dropout: float = 0.0) -> Layer:
    """A layer in double precision whose norms have scales and shifts of all kinds; of one stream without marks."""
    torch.manual_seed(0)

    def stream(inputs: int, encoder: nn.Module | None) -> StreamLayer:
        parts = [build_norm(norm, CHANNELS) for _ in range(2)]
        gin = GIN(nn.Linear(inputs, CHANNELS), parts[0], nn.Linear(CHANNELS, CHANNELS), encoder)
        gin.eps.data.fill_(0.3)
        return StreamLayer(gin, parts[1])

    encoders = {
        "none": None,
        "table": CategoricalEdges([3, 2], CHANNELS + marks),
        "real": RealEdges(2, CHANNELS + marks),
    }
    features = stream(CHANNELS + marks, encoders[edges])
    layer: Layer
    if marks:
        layer = TwoStreamLayer(features, stream(marks, None), residual=residual, dropout=dropout)
    else:
        layer = SingleStreamLayer(features, residual=residual, dropout=dropout)
    for name, weight in layer.named_parameters():
        if "norm" in name:
            weight.data.add_(torch.randn_like(weight) / 3)
    return layer.double()


def compiled(layer: Layer) -> Layer:
    assert why_not(layer) is None
    return twin_of(layer)


def edge_attr(edges: str, count: int) -> Tensor | None:
    generator = torch.Generator().manual_seed(1)
    if edges == "table":
        return torch.stack([torch.randint(size, (count,), generator=generator) for size in (3, 2)], dim=1)
    return torch.randn(count, 2, dtype=torch.float64, generator=generator) if edges == "real" else None


def states(bag: Bag, marks: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(2)
    widths = (CHANNELS, marks) if marks else (CHANNELS,)
    rows = [torch.randn(bag.num_rows, width, dtype=torch.float64, generator=generator) for width in widths]
    return [one.requires_grad_() for one in rows]


def outcome(layer: Layer, bag: Bag, edges: str, marks: int) -> list[Tensor]:
    """Outputs, running statistics, and the gradients of all that goes in."""
    given = states(bag, marks)
    out = layer(*given, bag, edge_attr(edges, len(bag.adjacency.edge.unique())))
    out = out if isinstance(out, tuple) else (out,)
    loss = sum((one * torch.arange(one.numel(), dtype=one.dtype).view_as(one).cos()).sum() for one in out)
    loss.backward()
    gradients = [torch.zeros_like(x) if x.grad is None else x.grad for x in (*given, *layer.parameters())]
    return [one.detach() for one in (*out, *layer.buffers())] + [one.clone() for one in gradients]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was called in place of the plain forward pass."""
    seen: list[str] = []
    train, infer = twins.train_layer, twins.infer_layer
    monkeypatch.setattr(twins, "train_layer", lambda *given: seen.append("train") or train(*given))
    monkeypatch.setattr(twins, "infer_layer", lambda *given: seen.append("infer") or infer(*given))
    return seen


@pytest.mark.parametrize("norm", ["batch", "layer"])
@given(bags(), st.sampled_from(["none", "table", "real"]), st.sampled_from([0, 1, CHANNELS]), st.booleans())
def test_a_compiled_layer_is_the_plain_one(norm: str, bag: Bag, edges: str, marks: int, residual: bool) -> None:
    if bag.num_rows < 3:
        return  # fewer rows have no spread, or only signs
    plain, fast = (build_layer(norm, edges, marks, residual=residual) for _ in range(2))
    for a, b in zip(outcome(plain, bag, edges, marks), outcome(compiled(fast), bag, edges, marks), strict=True):
        assert torch.allclose(a, b, atol=1e-7), (a - b).abs().max()


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("marks", [0, 2])
@pytest.mark.parametrize("edges", ["none", "table", "real"])
def test_at_inference_too(norm: str, marks: int, edges: str, small: Bag, steps: list[str]) -> None:
    plain, fast = build_layer(norm, edges, marks), build_layer(norm, edges, marks)
    fast = compiled(fast)
    for layer in (plain, fast):
        for name, buffer in layer.named_buffers():
            buffer.copy_(torch.linspace(0.5, 2, CHANNELS) if "var" in name else torch.linspace(-1, 1, CHANNELS))
        layer.eval()
    attributes = edge_attr(edges, small.adjacency.num_edges)
    with torch.no_grad():
        outs = [layer(*states(small, marks), small, attributes) for layer in (plain, fast)]
    for a, b in zip(*([out] if isinstance(out, Tensor) else out for out in outs), strict=True):
        assert torch.allclose(a, b, atol=1e-9)
    assert steps == ["infer"]


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("edges", ["none", "table", "real"])
@pytest.mark.parametrize("marks", [0, 2])
def test_gradients_are_those_of_finite_differences(norm: str, edges: str, marks: int, small: Bag) -> None:
    layer = compiled(build_layer(norm, edges, marks))
    attributes = edge_attr(edges, small.adjacency.num_edges)
    names, given = [name for name, _ in layer.named_parameters()], states(small, marks)

    def run(*tensors: Tensor) -> Tensor:
        weights = dict(zip(names, tensors[len(given) :], strict=True))
        out = torch.func.functional_call(layer, weights, (*tensors[: len(given)], small, attributes))
        return out if isinstance(out, Tensor) else torch.cat(out, dim=1)

    assert gradcheck(run, (*given, *layer.parameters()))


@pytest.fixture
def small() -> Bag:
    return bag_of(torch.tensor([[0, 1, 1, 2, 0, 3], [1, 0, 2, 1, 0, 3]]), [2, 2, 2, 1])


@pytest.fixture
def large() -> Bag:
    edges = torch.randint(9000, (2, 30000), generator=torch.Generator().manual_seed(0))
    return bag_of(edges, [3] * 9000)


@pytest.fixture
def restored_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("marks", [0, CHANNELS])
def test_threads_change_nothing(norm: str, threads: int, marks: int, large: Bag, restored_threads: None) -> None:
    torch.set_num_threads(threads)
    layers = [build_layer(norm, "table", marks) for _ in range(3)]
    runs = [outcome(layer, large, "table", marks) for layer in (layers[0], *map(compiled, layers[1:]))]
    assert torch.get_num_threads() == threads
    for a, b, again in zip(*runs, strict=True):
        assert torch.allclose(a, b, rtol=1e-8, atol=1e-7)
        assert torch.equal(b, again)


def test_copies_with_edges_of_their_own(small: Bag) -> None:
    """Several of a bag's messages then share the vector of one edge."""
    rows = small.row_adjacency
    own = Bag(small.marks, small.row_ptr, small.slots, small.slot_roots, small.graph, rows, None, small.node)
    for edges in ("none", "table", "real"):
        runs = [
            outcome(layer, bag, edges, 2)
            for bag in (small, own)
            for layer in (build_layer("batch", edges, 2), compiled(build_layer("batch", edges, 2)))
        ]
        assert rows.num_edges > small.adjacency.num_edges
        for a, *others in zip(*runs, strict=True):
            assert all(torch.allclose(a, b, atol=1e-9) for b in others)


def test_single_precision_agrees_to_rounding(large: Bag) -> None:
    outs = []
    for layer in (build_layer("batch", "table", 2), compiled(build_layer("batch", "table", 2))):
        h, p = (one.detach().float() for one in states(large, 2))
        outs.append(layer.float()(h, p, large, edge_attr("table", large.adjacency.num_edges))[0])
    assert outs[1].dtype == torch.float32
    assert (outs[0] - outs[1]).abs().max() < 1e-4


def test_a_nan_is_not_swallowed(small: Bag) -> None:
    layer = compiled(build_layer("layer", "none", 2)).eval()
    h, p = states(small, 2)
    h.data[0] = torch.nan
    with torch.no_grad():
        assert layer(h, p, small, None)[0][2].isnan().any()
    assert layer(h, p, small, None)[0][2].isnan().any()


def test_a_second_backward_pass_gives_the_same(small: Bag) -> None:
    layer = compiled(build_layer("batch", "table", 2))
    h, p = states(small, 2)
    loss = layer(h, p, small, edge_attr("table", 6))[0].square().sum()
    first = torch.autograd.grad(loss, [h, p], retain_graph=True)
    assert all(torch.equal(a, b) for a, b in zip(first, torch.autograd.grad(loss, [h, p]), strict=True))


def test_weights_that_change_before_the_backward_pass_are_refused(small: Bag) -> None:
    layer = compiled(build_layer("layer", "none", 2))
    loss = layer(*states(small, 2), small, None)[0].sum()
    with torch.no_grad():
        layer.features.conv.lin1.weight.add_(1)
    with pytest.raises(RuntimeError):
        loss.backward()


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("marks", [0, 2])
def test_dropout_is_left_to_torch(norm: str, marks: int, small: Bag, steps: list[str]) -> None:
    outs = []
    for layer in (
        build_layer(norm, "table", marks, dropout=0.5),
        compiled(build_layer(norm, "table", marks, dropout=0.5)),
    ):
        torch.manual_seed(0)
        out = layer(*states(small, marks), small, edge_attr("table", 6))
        outs.append(out if isinstance(out, Tensor) else out[0])
    assert torch.allclose(*outs, atol=1e-8)
    assert ((outs[0] - states(small, marks)[0]).abs() < 1e-12).float().mean() > 0.3
    assert steps == ["train"]


def test_a_constant_channel_has_no_spread_at_all() -> None:
    """Rounding would be divided by the root of epsilon, in single precision by 0.003."""
    bag = bag_of(torch.zeros(2, 0).long(), [1] * 5000)
    layer = compiled(build_layer("batch", "none", 0, residual=False)).float()
    out = layer(torch.full((5000, CHANNELS), 0.1), bag, None)
    assert torch.equal(out, torch.relu(layer.features.norm.bias).expand(5000, -1))


def test_edge_ids_that_change_are_read_again(small: Bag) -> None:
    """What each message has of a table is kept per bag."""
    layer, attributes = compiled(build_layer("layer", "table", 2)), edge_attr("table", 6)
    before = layer(*states(small, 2), small, attributes)[0]
    attributes[:, 0] = 2 - attributes[:, 0]
    changed = layer(*states(small, 2), small, attributes)[0]
    assert not torch.allclose(before, changed)
    assert torch.equal(changed, layer(*states(small, 2), small, attributes.clone())[0])


@pytest.mark.parametrize("what", ["one row", "half precision", "mixed precision", "fixed with gradients", "some fixed"])
def test_what_the_loops_do_not_serve_is_left_to_torch(what: str, small: Bag, steps: list[str]) -> None:
    layers = [build_layer("batch", "table", 2), compiled(build_layer("batch", "table", 2))]
    bag, attributes, dtype = small, edge_attr("table", 6), torch.float64
    if what == "one row":
        bag, attributes = bag_of(torch.zeros(2, 0).long(), [1]), torch.zeros(0, 2).long()
    if what == "half precision":
        dtype = torch.bfloat16
    outs = []
    for layer in layers:
        layer.to(dtype)
        if what == "fixed with gradients":
            layer.eval()
        if what == "some fixed":
            layer.marks.eval()
        given = [one.detach().to(dtype) for one in states(bag, 2)]
        if what == "mixed precision":
            layer.float()
            given = [one.float() for one in given]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=what == "mixed precision"):
            outs.append(layer(*given, bag, attributes))
    assert all(torch.equal(a, b) for a, b in zip(*outs, strict=True))
    assert steps == []


@pytest.mark.parametrize("hidden", [4, 9])
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_maps_of_other_widths(norm: str, hidden: int, small: Bag, steps: list[str]) -> None:
    runs = []
    for fast in (False, True):
        layer = build_layer(norm, "none", 2)
        torch.manual_seed(1)
        for stream, inputs in ((layer.features, CHANNELS + 2), (layer.marks, 2)):
            stream.conv = GIN(nn.Linear(inputs, hidden), build_norm(norm, hidden), nn.Linear(hidden, CHANNELS)).double()
        runs.append(outcome(compiled(layer) if fast else layer, small, "none", 2))
    assert all(torch.allclose(a, b, atol=1e-9) for a, b in zip(*runs, strict=True))
    assert steps == ["train"]


def test_each_norm_has_an_epsilon_of_its_own(small: Bag) -> None:
    runs = []
    for fast in (False, True):
        layer = build_layer("layer", "none", 2)
        layer.marks.conv.norm, layer.marks.norm = (RowLayerNorm(CHANNELS, eps=eps).double() for eps in (1.0, 0.01))
        runs.append(outcome(compiled(layer) if fast else layer, small, "none", 2))
    assert all(torch.allclose(a, b, atol=1e-9) for a, b in zip(*runs, strict=True))


def test_what_does_not_fit_is_refused(small: Bag) -> None:
    """Compiled loops would read what lies behind an array; torch says what is wrong."""
    h, p = states(small, 2)
    layer = compiled(build_layer("layer", "real", 2))
    with pytest.raises((RuntimeError, ValueError)):
        layer(h[:, :4], p, small, edge_attr("real", 6))
    with raises_naming(ValueError, "5 edge vectors"):
        layer(h, p, small, edge_attr("real", 5))
    layer.features.conv.edges = RealEdges(2, 3).double()
    with raises_naming(ValueError, "3 channels"):
        layer(h, p, small, edge_attr("real", 6))
    layer = compiled(build_layer("layer", "none", 2))
    layer.features.conv.lin1 = nn.Linear(CHANNELS + 1, CHANNELS).double()
    with pytest.raises(RuntimeError):
        layer(h[:, :5], p, small, None)
