"""Parts that are made from ours and compute something else: the compiled loops do not go past them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from policylearn.bags import Bag
from policylearn.kernels import Layout, use_kernels
from policylearn.models import SubgraphGNN
from policylearn.nn import (
    GIN,
    CategoricalEdges,
    Graphs,
    SlotPool,
    StreamLayer,
    TwoStreamEncoder,
    TwoStreamLayer,
    is_compiled,
)
from policylearn.nn.features import EdgeTerm
from tests.graphs import batch_of, molecules, small_model


class LoudEncoder(TwoStreamEncoder):
    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        return 3 * super().forward(graphs, bag)


class LoudLayer(TwoStreamLayer):
    def forward(self, h: Tensor, p: Tensor, rows: Layout, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
        h, p = super().forward(h, p, rows, edge_attr)
        return 3 * h, p


class LoudStream(StreamLayer):
    def forward(self, states: Tensor, rows: Layout, edge_attr: Tensor | None) -> Tensor:
        return 3 * super().forward(states, rows, edge_attr)


class LoudGIN(GIN):
    def forward(self, states: Tensor, rows: Layout, edge_attr: Tensor | None) -> Tensor:
        return super().forward(states, rows, edge_attr).square()  # a norm follows, to which a factor is nothing


class LoudEdges(CategoricalEdges):
    def forward(self, edge_attr: Tensor) -> EdgeTerm:
        term = super().forward(edge_attr)
        return EdgeTerm(3 * term.values, term.index)


class LoudPool(SlotPool):
    def finish(self, total: Tensor, copies: Tensor | int) -> Tensor:
        return 3 * super().finish(total, copies)


def part_of(model: SubgraphGNN, kind: type) -> nn.Module:
    """The first part of that very class, in the second layer where it is in each."""
    layer = model.encoder.layers[1]
    places = [model.encoder, layer, layer.features, layer.features.conv, layer.features.conv.edges, model.pool]
    return next(part for part in places if type(part) is kind)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("loud", [LoudEncoder, LoudLayer, LoudStream, LoudGIN, LoudEdges, LoudPool])
def test_it_is_asked(loud: type[nn.Module], training: bool) -> None:
    batch = batch_of(*molecules(5))
    model = small_model("full", layers=2, dtype=torch.float64).train(training)
    assert is_compiled(model.encoder)
    with torch.no_grad():
        before = model(batch)
        part_of(model, loud.__base__).__class__ = loud
        with use_kernels("compiled"):
            after = model(batch)
        with use_kernels("torch"):
            assert torch.allclose(model(batch), after, atol=1e-9)
    assert not torch.allclose(after, before, atol=1e-3)
    assert is_compiled(model.encoder) == (loud in (LoudEdges, LoudPool))
