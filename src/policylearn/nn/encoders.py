"""Networks that turn marked copies of graphs into node states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from policylearn.bags import Bag
from policylearn.kernels import FusedNorm, LayerSpec, Layout, StreamWeights, two_stream_layer
from policylearn.nn.convs import GIN, Conv
from policylearn.nn.graphs import Graphs, rows_of
from policylearn.nn.norms import RowNorm, can_fuse


class Encoder(Protocol):
    """Node states of every copy."""

    def __call__(self, graphs: Graphs, bag: Bag) -> Tensor:
        """One state a row of the bag, ``(R, C)``."""


class StreamLayer(nn.Module):
    """``relu(norm(conv(z)))``."""

    def __init__(self, conv: Conv, norm: RowNorm) -> None:
        super().__init__()
        self.conv, self.norm = conv, norm

    def forward(self, states: Tensor, rows: Layout, edge_attr: Tensor | None) -> Tensor:
        """One layer of one stream, ``(R, C_in) -> (R, C)``."""
        return torch.relu(self.norm(self.conv(states, rows, edge_attr), rows.copies))

    @property
    def norms(self) -> list[RowNorm]:
        """Of a GIN between its maps, and behind it."""
        assert isinstance(self.conv, GIN)
        return [self.conv.norm, self.norm]

    def weights(self) -> StreamWeights:
        """Of a GIN and the norm behind it."""
        conv = self.conv
        assert isinstance(conv, GIN)
        return StreamWeights(conv.scale, conv.norm.affine(conv.lin1), self.norm.affine(conv.lin2))

    def after_sum(self, conv: GIN, summed: Tensor, width: int, residual: Tensor | None = None) -> Tensor:
        """What follows the sum of a GIN, ``(R, C_in) -> (R, C)``, plus a residual."""
        return self.norm.linear_relu(conv.lin2, conv.hidden(summed, width), width, residual)


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

    def _end(self, conv: GIN, summed: Tensor, width: int, h: Tensor) -> Tensor:
        """New features from the sum of a GIN, ``(R, C_in) -> (R, C)``."""
        if self.training and self.dropout.p > 0:
            return self._dropped(self.features.after_sum(conv, summed, width), h)
        return self.features.after_sum(conv, summed, width, h if self.residual else None)

    def _dropped(self, new: Tensor, h: Tensor) -> Tensor:
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
        kind = self._fused(h, p, rows)
        if kind is not None:
            return self._in_one_step(h, p, rows, edge_attr, kind)
        new = self.features(torch.cat([h, p], dim=1), rows, edge_attr)
        return self._dropped(new, h), self.marks(p, rows, None)

    def _norms(self) -> list[RowNorm]:
        """In the order of the kernel's statistics."""
        return [norm for stream in (self.features, self.marks) for norm in stream.norms]

    def _fused(self, h: Tensor, p: Tensor, rows: Layout) -> FusedNorm | None:
        """The norm with which the kernels make this layer in one step; None if they cannot."""
        conv, mark_conv = self.features.conv, self.marks.conv
        if not (isinstance(conv, GIN) and isinstance(mark_conv, GIN) and h.dtype == p.dtype and can_fuse(conv.lin1, h)):
            return None
        kinds = {(norm.fused(len(h), rows.copies), getattr(norm, "eps", None)) for norm in self._norms()}
        return kinds.pop()[0] if len(kinds) == 1 else None

    def _in_one_step(
        self, h: Tensor, p: Tensor, rows: Layout, edge_attr: Tensor | None, kind: FusedNorm
    ) -> tuple[Tensor, Tensor]:
        conv, norms = self.features.conv, self._norms()
        assert isinstance(conv, GIN)
        term = conv.edge_term(edge_attr)
        drops = self.training and self.dropout.p > 0
        spec = LayerSpec(rows, kind, norms[0].eps, None if term is None else term.index, self.residual and not drops)
        values = None if term is None else term.values.to(h.dtype)
        out = two_stream_layer(h, p, self.features.weights(), self.marks.weights(), values, spec)
        for norm, found in zip(norms, out.statistics, strict=False):
            norm.remember(found[0], found[1], len(h))
        return self._dropped(out.h, h) if drops else out.h, out.p


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
        conv = self.features.conv
        if not isinstance(conv, GIN):
            return self._dropped(self.features(h, rows, edge_attr), h)
        return self._end(conv, conv.summed(h, rows, edge_attr), rows.copies, h)


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
    if not isinstance(encoder, TwoStreamEncoder | SingleStreamEncoder):
        return False
    return all(isinstance(module, Layer) and isinstance(module.features.conv, GIN) for module in encoder.layers)
