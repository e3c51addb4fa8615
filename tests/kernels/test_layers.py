"""A layer made in one step gives what its parts give, forward and backward, whatever the norm and the edges are."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor, nn
from torch.autograd import gradcheck

from policylearn.kernels import Adjacency, Affine, Layout, gin_mlp, use_kernels
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
from tests.kernels.test_fused import layouts

CHANNELS = 6


def build_layer(norm: str, edges: str, marks: int, *, residual: bool = True, dropout: float = 0.0) -> TwoStreamLayer:
    """A layer in double precision whose norms have scales and shifts of all kinds."""
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
    layer = TwoStreamLayer(
        stream(CHANNELS + marks, encoders[edges]), stream(marks, None), residual=residual, dropout=dropout
    )
    for name, weight in layer.named_parameters():
        if "norm" in name:
            weight.data.add_(torch.randn_like(weight) / 3)
    return layer.double()


def edge_attr(edges: str, count: int) -> Tensor | None:
    generator = torch.Generator().manual_seed(1)
    if edges == "table":
        return torch.stack([torch.randint(size, (count,), generator=generator) for size in (3, 2)], dim=1)
    return torch.randn(count, 2, dtype=torch.float64, generator=generator) if edges == "real" else None


def states(layout: Layout, marks: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    rows = int(layout.row_ptr[-1])
    h, p = (torch.randn(rows, width, dtype=torch.float64, generator=generator) for width in (CHANNELS, marks))
    return h.requires_grad_(), p.requires_grad_()


def outcome(layer: TwoStreamLayer, layout: Layout, edges: str, marks: int, backend: str) -> list[Tensor]:
    """Outputs, running statistics, and the gradients of all that goes in."""
    h, p = states(layout, marks)
    layer.zero_grad()
    with use_kernels(backend):
        out = layer(h, p, layout, edge_attr(edges, layout.adjacency.num_edges))
        loss = sum((one * torch.arange(one.numel(), dtype=one.dtype).view_as(one).cos()).sum() for one in out)
        loss.backward()
    gradients = [torch.zeros_like(x) if x.grad is None else x.grad for x in (h, p, *layer.parameters())]
    return [one.detach() for one in (*out, *layer.buffers())] + [one.clone() for one in gradients]


@pytest.mark.parametrize("norm", ["batch", "layer"])
@settings(max_examples=30, deadline=None)
@given(layouts(), st.sampled_from(["none", "table", "real"]), st.sampled_from([1, CHANNELS]), st.booleans())
def test_one_step_equals_its_parts(norm: str, layout: Layout, edges: str, marks: int, residual: bool) -> None:
    if int(layout.row_ptr[-1]) < 3:
        return  # fewer rows have no spread, or only signs
    parts, fused = (
        outcome(build_layer(norm, edges, marks, residual=residual), layout, edges, marks, backend)
        for backend in ("torch", "compiled")
    )
    for a, b in zip(parts, fused, strict=True):
        assert torch.allclose(a, b, atol=1e-7), (a - b).abs().max()


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("edges", ["none", "table", "real"])
def test_gradients_are_those_of_finite_differences(norm: str, edges: str, small: Layout) -> None:
    layer = build_layer(norm, edges, 2)
    attributes = edge_attr(edges, small.adjacency.num_edges)
    weights = list(layer.parameters())
    names = [name for name, _ in layer.named_parameters()]

    def run(h: Tensor, p: Tensor, *given: Tensor) -> tuple[Tensor, Tensor]:
        out = torch.func.functional_call(layer, dict(zip(names, given, strict=True)), (h, p, small, attributes))
        return out[0], out[1]

    with use_kernels("compiled"):
        assert gradcheck(run, (*states(small, 2), *weights))


@pytest.fixture
def small() -> Layout:
    edges = torch.tensor([[0, 1, 1, 2, 0, 3], [1, 0, 2, 1, 0, 3]])
    return Layout(Adjacency.of(edges, 4), torch.tensor([0, 2, 4, 6, 7]), None)


@pytest.fixture
def large() -> Layout:
    edges = torch.randint(9000, (2, 30000), generator=torch.Generator().manual_seed(0))
    return Layout(Adjacency.of(edges, 9000), torch.arange(9001) * 3, 3)


@pytest.fixture
def restored_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_pieces_and_threads_change_nothing(norm: str, threads: int, large: Layout, restored_threads: None) -> None:
    torch.set_num_threads(threads)
    runs = [
        outcome(build_layer(norm, "table", CHANNELS), large, "table", CHANNELS, backend)
        for backend in ("torch", "compiled", "compiled")
    ]
    assert torch.get_num_threads() == threads
    for a, b, again in zip(*runs, strict=True):
        assert torch.allclose(a, b, rtol=1e-8, atol=1e-7)
        assert torch.equal(b, again)


def test_a_second_backward_pass_gives_the_same(small: Layout) -> None:
    layer = build_layer("batch", "table", 2)
    h, p = states(small, 2)
    with use_kernels("compiled"):
        loss = layer(h, p, small, edge_attr("table", 6))[0].square().sum()
    first = torch.autograd.grad(loss, [h, p], retain_graph=True)
    assert all(torch.equal(a, b) for a, b in zip(first, torch.autograd.grad(loss, [h, p]), strict=True))


def test_weights_that_change_before_the_backward_pass_are_refused(small: Layout) -> None:
    layer = build_layer("layer", "none", 2)
    h, p = states(small, 2)
    with use_kernels("compiled"):
        loss = layer(h, p, small, None)[0].sum()
    with torch.no_grad():
        layer.features.conv.lin1.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_dropout_is_left_to_torch(norm: str, small: Layout) -> None:
    layer = build_layer(norm, "table", 2, dropout=0.5)
    h, p = states(small, 2)
    outs = []
    for backend in ("torch", "compiled"):
        torch.manual_seed(0)
        with use_kernels(backend):
            outs.append(layer(h, p, small, edge_attr("table", 6))[0])
    assert torch.allclose(*outs, atol=1e-8)
    assert ((outs[0] - h).abs() < 1e-12).float().mean() > 0.3


def test_a_constant_channel_has_no_spread_at_all() -> None:
    """Rounding would be divided by the root of epsilon, in single precision by 0.003."""
    x = torch.full((5000, 1), 0.1)
    first = Affine(torch.full((3, 1), 7.7), torch.zeros(3), torch.ones(3), torch.full((3,), 0.25))
    second = Affine(torch.eye(3), torch.ones(3), torch.ones(3), torch.full((3,), 0.5))
    out, found = gin_mlp(x, first, second, "batch", 1e-5)
    assert torch.equal(out, torch.full((5000, 3), 0.5))
    assert found[:, 1].eq(0).all()
    assert torch.equal(found[1, 0], torch.full((3,), 1.25))


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("hidden", [4, 9])
def test_maps_of_other_widths_are_left_to_torch(norm: str, hidden: int, small: Layout) -> None:
    layer = build_layer(norm, "none", 2)
    for stream, inputs in ((layer.features, CHANNELS + 2), (layer.marks, 2)):
        parts = nn.Linear(inputs, hidden), build_norm(norm, hidden), nn.Linear(hidden, CHANNELS)
        stream.conv = GIN(*parts).double()
    runs = [outcome(layer, small, "none", 2, backend) for backend in ("torch", "auto")]
    gradients = len(list(layer.parameters())) + 2
    for a, b in zip(*(run[:2] + run[-gradients:] for run in runs), strict=True):
        assert torch.allclose(a, b, atol=1e-9)


def test_a_map_without_bias_is_left_to_torch(small: Layout) -> None:
    layer = build_layer("layer", "none", 2)
    layer.features.conv.lin1 = nn.Linear(CHANNELS + 2, CHANNELS, bias=False).double()
    runs = [outcome(layer, small, "none", 2, backend) for backend in ("torch", "compiled")]
    assert all(torch.allclose(a, b, atol=1e-9) for a, b in zip(*runs, strict=True))


def test_each_norm_has_an_epsilon_of_its_own(small: Layout) -> None:
    layer = build_layer("layer", "none", 2)
    layer.marks.conv.norm, layer.marks.norm = (RowLayerNorm(CHANNELS, eps=1.0).double() for _ in range(2))
    runs = [outcome(layer, small, "none", 2, backend) for backend in ("torch", "compiled")]
    assert all(torch.allclose(a, b, atol=1e-9) for a, b in zip(*runs, strict=True))
    one = SingleStreamLayer(layer.marks, residual=False)
    layer.marks.norm = RowLayerNorm(CHANNELS, eps=0.01).double()
    with torch.no_grad():
        x = states(small, 2)[1]
        outs = []
        for backend in ("torch", "compiled"):
            with use_kernels(backend):
                outs.append(one(x, small, None))
    assert torch.allclose(*outs, atol=1e-9)


def test_what_does_not_fit_is_refused(small: Layout) -> None:
    """Compiled loops would read what lies behind an array."""
    h, p = states(small, 2)
    layer = build_layer("layer", "real", 2)
    with use_kernels("compiled"):
        with pytest.raises(ValueError, match="build it with 6 inputs"):
            layer(h[:, :4], p, small, edge_attr("real", 6))
        with pytest.raises(ValueError, match="5 edge vectors for 6 edges"):
            layer(h, p, small, edge_attr("real", 5))
        layer.features.conv.edges = RealEdges(2, 3).double()
        with pytest.raises(ValueError, match="edge vectors of 3 channels"):
            layer(h, p, small, edge_attr("real", 6))
        layer = build_layer("layer", "none", 2)
        layer.features.conv.lin1 = nn.Linear(CHANNELS + 1, CHANNELS).double()
        with pytest.raises(ValueError, match="a residual of 5 channels is added to an output of 6"):
            layer(h[:, :5], p, small, None)
