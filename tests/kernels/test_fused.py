"""The compiled sums give what the plain ones give, forward and backward, for equal and unequal numbers of copies."""

from __future__ import annotations

import threading

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch.autograd import gradcheck

from policylearn.kernels import Adjacency, Layout, gin_sum, gine_sum, use_kernels, wanted_backend
from policylearn.kernels.backends import VARIABLE
from tests.kernels.test_sums import edge_lists

SCALE = torch.tensor([1.3], dtype=torch.float64)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Any multigraph, made twice so that the two halves can differ in their number of copies."""
    nodes, edges = draw(edge_lists())
    both = Adjacency.of(torch.cat([edges, edges + nodes], dim=1), 2 * nodes)
    copies = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    count = torch.tensor([copies[0]] * nodes + [copies[1]] * nodes)
    row_ptr = torch.cat([count.new_zeros(1), count.cumsum(0)])
    return Layout(both, row_ptr, copies[0] if copies[0] == copies[1] else None)


def inputs(layout: Layout, kinds: int | None, channels: int = 5) -> tuple[Tensor, Tensor, Tensor | None]:
    """States, the edges' values and their index; ``kinds`` of a table, or None for a vector an edge."""
    generator = torch.Generator().manual_seed(0)
    edges = layout.adjacency.num_edges
    states = torch.randn(int(layout.row_ptr[-1]), channels, dtype=torch.float64, generator=generator)
    values = torch.randn(edges if kinds is None else kinds, channels, dtype=torch.float64, generator=generator)
    index = None if kinds is None else torch.randint(kinds, (edges,), generator=generator)
    return states.requires_grad_(), values.requires_grad_(), index


def both_ways(layout: Layout, kinds: int | None, *, with_edges: bool) -> list[list[Tensor]]:
    results = []
    for backend in ("torch", "compiled"):
        states, values, index = inputs(layout, kinds)
        scale = SCALE.clone().requires_grad_()
        with use_kernels(backend):
            out = gine_sum(states, layout, scale, values, index) if with_edges else gin_sum(states, layout, scale)
            wanted = [states, scale, values] if with_edges else [states, scale]
            weights = torch.arange(out.numel(), dtype=out.dtype).view_as(out).sin()
            gradients = torch.autograd.grad((out * weights).sum(), wanted, allow_unused=True)
        zeros = [torch.zeros_like(w) if g is None else g for w, g in zip(wanted, gradients, strict=True)]
        results.append([out.detach(), *zeros])
    return results


@settings(max_examples=60, deadline=None)
@given(layouts(), st.sampled_from([None, 1, 4]), st.booleans())
def test_compiled_equals_torch(layout: Layout, kinds: int | None, with_edges: bool) -> None:
    plain, compiled = both_ways(layout, kinds, with_edges=with_edges)
    for a, b in zip(plain, compiled, strict=True):
        assert torch.allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("kinds", [None, 4])
def test_any_number_of_threads_gives_the_same(threads: int, kinds: int | None) -> None:
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(4000, (2, 16000), generator=generator)
    layout = Layout(Adjacency.of(edges, 4000), torch.arange(4001) * 4, 4)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        plain, compiled = both_ways(layout, kinds, with_edges=True)
        again = both_ways(layout, kinds, with_edges=True)[1]
    finally:
        torch.set_num_threads(before)
    for a, b, c in zip(plain, compiled, again, strict=True):
        assert torch.allclose(a, b, atol=1e-9)
        assert torch.equal(b, c)


@pytest.mark.parametrize("backend", ["torch", "compiled"])
@pytest.mark.parametrize("kinds", [None, 2])
def test_gradients(backend: str, kinds: int | None) -> None:
    edges = torch.tensor([[0, 1, 1, 2, 0, 3], [1, 0, 2, 1, 0, 3]])
    layout = Layout(Adjacency.of(edges, 4), torch.tensor([0, 2, 4, 6, 6]), None)
    states, values, index = inputs(layout, kinds, channels=3)
    scale = SCALE.clone().requires_grad_()
    with use_kernels(backend):
        assert gradcheck(lambda s, c: gin_sum(s, layout, c), (states, scale))
        assert gradcheck(lambda s, c, v: gine_sum(s, layout, c, v, index), (states, scale, values))


def test_single_precision_agrees_to_rounding() -> None:
    edges = torch.randint(50, (2, 300), generator=torch.Generator().manual_seed(0))
    layout = Layout(Adjacency.of(edges, 50), torch.arange(51) * 3, 3)
    states, values, index = inputs(layout, 4, channels=64)
    outs = []
    for backend in ("torch", "compiled"):
        with use_kernels(backend):
            outs.append(gine_sum(states.float(), layout, SCALE.float(), values.float(), index))
    assert outs[0].dtype == outs[1].dtype == torch.float32
    assert (outs[0] - outs[1]).abs().max() < 1e-5 * outs[0].abs().max()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_falls_to_plain_torch(dtype: torch.dtype) -> None:
    edges = torch.randint(20, (2, 60), generator=torch.Generator().manual_seed(0))
    layout = Layout(Adjacency.of(edges, 20), torch.arange(21) * 2, 2)
    states, values, index = inputs(layout, 3)
    half = states.detach().to(dtype).requires_grad_()
    out = gine_sum(half, layout, SCALE.to(dtype), values.to(dtype), index)
    out.sum().backward()
    assert out.dtype == half.grad.dtype == dtype
    wanted = gine_sum(states, layout, SCALE, values, index)
    assert (out.double() - wanted).abs().max() < 0.05 * wanted.abs().max()


def test_a_nan_is_not_swallowed() -> None:
    layout = Layout(Adjacency.of(torch.tensor([[0], [1]]), 2), torch.arange(3), 1)
    states = torch.tensor([[torch.nan], [1.0]])
    for backend in ("torch", "compiled"):
        with use_kernels(backend):
            out = gine_sum(states, layout, torch.ones(1), torch.zeros(1, 1), None)
        assert out[1].isnan()


def test_the_choice_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert wanted_backend() == "auto"
    monkeypatch.setenv(VARIABLE, "torch")
    assert wanted_backend() == "torch"
    with use_kernels("compiled"):
        assert wanted_backend() == "compiled"
        layout = Layout(Adjacency.of(torch.tensor([[0], [1]]), 2), torch.arange(3), 1)
        with pytest.raises(RuntimeError, match="need numba and float32 or float64 on the CPU"):
            gin_sum(torch.ones(2, 1, dtype=torch.float16), layout, torch.ones(1))
    monkeypatch.setenv(VARIABLE, "quick")
    with pytest.raises(ValueError, match=r"kernels must be one of auto, compiled, torch \(got 'quick'\)"):
        wanted_backend()


def test_the_choice_reaches_the_thread_that_goes_backward() -> None:
    """Autograd runs backward in threads of its own: what was compiled forward must be compiled backward."""
    layout = Layout(Adjacency.of(torch.tensor([[0], [1]]), 2), torch.arange(3), 1)
    states = torch.ones(2, 1, requires_grad=True)
    with use_kernels("compiled"):
        out = gin_sum(states, layout, torch.ones(1))
    worker = threading.Thread(target=lambda: out.sum().backward())
    worker.start()
    worker.join()
    assert states.grad is not None
    assert states.grad.tolist() == [[2.0], [1.0]]


@pytest.mark.parametrize("backend", ["torch", "auto"])
def test_mixed_precision(backend: str) -> None:
    edges = torch.randint(20, (2, 60), generator=torch.Generator().manual_seed(0))
    layout = Layout(Adjacency.of(edges, 20), torch.arange(21) * 2, 2)
    states, values, index = inputs(layout, 3)
    with use_kernels(backend), torch.autocast("cpu", dtype=torch.bfloat16):
        out = gine_sum(states.float(), layout, SCALE.float(), values.bfloat16(), index)
    assert out.dtype == torch.float32
    assert (out.double() - gine_sum(states, layout, SCALE, values, index)).abs().max() < 0.05 * out.abs().max()
