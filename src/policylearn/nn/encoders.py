"""Networks that turn marked copies of graphs into node states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from policylearn.bags import Bag
from policylearn.kernels import (
    FixedHalf,
    FusedNorm,
    LayerSpec,
    Layout,
    StreamWeights,
    fixed_mlp,
    gin_mlp,
    two_stream_layer,
)
from policylearn.nn.convs import GIN, Conv
from policylearn.nn.graphs import Graphs, rows_of
from policylearn.nn.norms import RowNorm, can_fuse, has_hooks


class Encoder(Protocol):
    """Node states of every copy."""

    def __call__(self, graphs: Graphs, bag: Bag) -> Tensor:
        """One state a row of the bag, ``(R, C)``."""


class OneStep(NamedTuple):
    """How the kernels make a layer in one step: its norms, what these add to variances, and its width."""

    norm: FusedNorm
    eps: float
    channels: int


class StreamLayer(nn.Module):
    """``relu(norm(conv(z)))``."""

    def __init__(self, conv: Conv, norm: RowNorm) -> None:
        super().__init__()
        self.conv, self.norm = conv, norm

    def forward(self, states: Tensor, rows: Layout, edge_attr: Tensor | None) -> Tensor:
        """One layer of one stream, ``(R, C_in) -> (R, C)``."""
        return torch.relu(self.norm(self.conv(states, rows, edge_attr), rows.copies))

    @property
    def gin(self) -> GIN | None:
        """The convolution, if it is a GIN; a class made from it or from this one may compute something else."""
        return self.conv if type(self) is StreamLayer and type(self.conv) is GIN else None

    def norms(self) -> list[RowNorm]:
        """Between the maps of a GIN, and behind it."""
        return [] if self.gin is None else [self.gin.norm, self.norm]

    def _plain(self) -> GIN | None:
        """The GIN, if its maps are no more than a weight and a bias."""
        conv = self.gin
        if conv is None:
            return None
        plain = all(type(linear) is nn.Linear and linear.bias is not None for linear in (conv.lin1, conv.lin2))
        return conv if plain else None

    def fused(self, rows: Tensor, width: int) -> OneStep | None:
        """How the kernels make this layer in one step; None if they cannot."""
        conv = self._plain()
        if conv is None or has_hooks(self) or not can_fuse(conv.lin1, rows):
            return None
        if conv.lin1.out_features != conv.lin2.out_features:
            return None
        kind, eps = conv.norm.fused(len(rows), width), getattr(conv.norm, "eps", None)
        if kind is None or (self.norm.fused(len(rows), width), getattr(self.norm, "eps", None)) != (kind, eps):
            return None
        return OneStep(kind, conv.norm.eps, conv.lin2.out_features)

    def fixed(self) -> tuple[FixedHalf, FixedHalf] | None:
        """The mlp and norms of a GIN as they are at inference; None where a row needs something from the batch."""
        conv = self._plain()
        if conv is None:
            return None
        first, second = conv.norm.fixed(conv.lin1), self.norm.fixed(conv.lin2)
        return None if first is None or second is None else (first, second)

    def weights(self) -> StreamWeights:
        """Of a GIN and the norm behind it."""
        conv = self.gin
        assert conv is not None, "only a GIN is fused"
        return StreamWeights(conv.scale, conv.norm.affine(conv.lin1), self.norm.affine(conv.lin2))


class Layer(nn.Module):
    """What layers of one and of two streams share.

    Args:
        features: layer of the features.
        dropout: on the features, before the residual.
        residual: add the h that came in.
    """

    def __init__(self, features: StreamLayer, *, dropout: float = 0.0, residual: bool = True) -> None:
        super().__init__()
        self.features = features
        self.dropout = nn.Dropout(dropout)
        self.residual = residual

    @property
    def drops(self) -> bool:
        """Whether something is dropped now."""
        return self.dropout.training and self.dropout.p > 0

    def _end(self, new: Tensor, h: Tensor) -> Tensor:
        new = self.dropout(new)
        return new + h if self.residual else new


class TwoStreamLayer(Layer):
    """Updates of the features h and of the marks p; both read the p that came in.

    Args:
        features: layer of the features, reads ``[h, p]`` and the edge features.
        marks: layer of the marks, reads p alone.
        dropout: on the features, before the residual.
        residual: add the h that came in.
    """

    def __init__(
        self, features: StreamLayer, marks: StreamLayer, *, dropout: float = 0.0, residual: bool = True
    ) -> None:
        super().__init__(features, dropout=dropout, residual=residual)
        self.marks = marks

    def forward(self, h: Tensor, p: Tensor, rows: Layout, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both streams, ``(R, C)`` and ``(R, C)``."""
        step = self.features.fused(h, rows.copies)
        if step is not None and h.dtype == p.dtype and self.marks.fused(p, rows.copies) == step:
            return self._in_one_step(h, p, rows, edge_attr, step)
        new = self.features(torch.cat([h, p], dim=1), rows, edge_attr)
        return self._end(new, h), self.marks(p, rows, None)

    def _in_one_step(
        self, h: Tensor, p: Tensor, rows: Layout, edge_attr: Tensor | None, step: OneStep
    ) -> tuple[Tensor, Tensor]:
        conv, norms = self.features.gin, [*self.features.norms(), *self.marks.norms()]
        assert conv is not None, "only a GIN is fused"
        term = conv.edge_term(edge_attr)
        index, values = (None, None) if term is None else (term.index, term.values.to(h.dtype))
        spec = LayerSpec(rows, step.norm, step.eps, index, self.residual and not self.drops)
        out = two_stream_layer(h, p, self.features.weights(), self.marks.weights(), values, spec)
        for norm, found in zip(norms, out.statistics, strict=False):
            norm.remember(found[0], found[1], len(h))
        return self._end(out.h, h) if self.drops else out.h, out.p


class TwoStreamEncoder(nn.Module):
    r"""DS-GNN encoder with the marks on a stream of their own.

    .. math::
        p^{(l)} = f_p^{(l)}(p^{(l-1)}, A), \quad
        h^{(l)} = f_h^{(l)}(h^{(l-1)} \oplus p^{(l-1)}, A), \quad
        h = p^{(L)} + h^{(L)}

    with :math:`p^{(0)} = \chi_v` and :math:`h^{(0)} = \chi_v \oplus X`.

    Args:
        node_encoder: features to C - 1 channels; the mark is the first channel of :math:`h^{(0)}`.
        layers: L layers.
    """

    def __init__(self, node_encoder: nn.Module, layers: Sequence[TwoStreamLayer]) -> None:
        super().__init__()
        self.node_encoder = node_encoder
        self.layers = nn.ModuleList(layers)

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """Node states of every copy, ``(R, C)``."""
        rows = rows_of(graphs, bag)
        p = bag.marks.unsqueeze(1)  # (R, 1)
        h = torch.cat([p, rows.spread(self.node_encoder(graphs.x))], dim=1)  # (R, C)
        for layer in self.layers:
            h, p = layer(h, p, rows, graphs.edge_attr)
        return h + p


class SingleStreamLayer(Layer):
    """One layer of an ordinary message passing network."""

    def forward(self, h: Tensor, rows: Layout, edge_attr: Tensor | None) -> Tensor:
        """One layer, ``(R, C) -> (R, C)``."""
        conv, residual = self.features.gin, h if self.residual and not self.drops else None
        if conv is not None and not torch.is_grad_enabled() and can_fuse(conv.lin1, h):
            fixed = None if self.drops or has_hooks(self.features) else self.features.fixed()
            if fixed is not None:
                return fixed_mlp(conv.summed(h, rows, edge_attr), fixed, residual)
        step = self.features.fused(h, rows.copies)
        if conv is None or step is None:
            return self._end(self.features(h, rows, edge_attr), h)
        weights = self.features.weights()
        new, statistics = gin_mlp(
            conv.summed(h, rows, edge_attr), weights.first, weights.second, step.norm, step.eps, residual
        )
        for norm, found in zip(self.features.norms(), statistics, strict=False):
            norm.remember(found[0], found[1], len(h))
        return self._end(new, h) if self.drops else new


class SingleStreamEncoder(nn.Module):
    """An ordinary message passing network: it does not see marks, so it is meant for bags of slot 0 alone.

    Args:
        node_encoder: features to C channels.
        layers: L layers.
    """

    def __init__(self, node_encoder: nn.Module, layers: Sequence[SingleStreamLayer]) -> None:
        super().__init__()
        self.node_encoder = node_encoder
        self.layers = nn.ModuleList(layers)

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """Node states of every copy, ``(R, C)``."""
        rows = rows_of(graphs, bag)
        h: Tensor = rows.spread(self.node_encoder(graphs.x))
        for layer in self.layers:
            h = layer(h, rows, graphs.edge_attr)
        return h


def is_compiled(encoder: Encoder) -> bool:
    """Whether the encoder's work is done by the compiled loops where these can be used, and not by torch's own."""
    if type(encoder) is not TwoStreamEncoder and type(encoder) is not SingleStreamEncoder:
        return False
    return all(
        (type(layer) is TwoStreamLayer or type(layer) is SingleStreamLayer) and layer.features.gin is not None
        for layer in encoder.layers
    )


def first_weight(*parts: Encoder | nn.Module) -> Tensor:
    """A weight of the first part that has any, for its precision and device; an empty tensor where none has."""
    modules = (part for part in parts if isinstance(part, nn.Module))
    return next((weight for module in modules for weight in module.parameters()), torch.empty(0))
