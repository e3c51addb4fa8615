"""Compiled twins of the single-stream and two-stream layers, which share their weights.

Where the tensors at hand do not allow for it (a device, a precision or widths that the loops do not know, a single row
for a batch norm, fixed statistics with gradients) a twin runs the layer's own forward pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from policylearn.bags import Adjacency, Bag
from policylearn.fast.rows import NONE, Array, LayerRows, as_array, whole_copies
from policylearn.fast.streams import FixedHalf, FixedStream, Norm, StreamPlan, train_stream
from policylearn.nn import (
    GIN,
    CategoricalEdges,
    RealEdges,
    RowBatchNorm,
    RowLayerNorm,
    SingleStreamLayer,
    StreamLayer,
    TwoStreamLayer,
)

Layer = TwoStreamLayer | SingleStreamLayer


class CompiledTwoStreamLayer(TwoStreamLayer):
    """See `TwoStreamLayer`."""

    def forward(self, h: Tensor, p: Tensor, bag: Bag, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both streams, ``(R, C)`` and ``(R, C)``."""
        new = compiled_layer(self, h, p, bag, edge_attr)
        return super().forward(h, p, bag, edge_attr) if new is None else new


class CompiledSingleStreamLayer(SingleStreamLayer):
    """See `SingleStreamLayer`; its marks have no channels."""

    def forward(self, h: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        """One layer, ``(R, C) -> (R, C)``."""
        new = compiled_layer(self, h, h.new_empty(len(h), 0), bag, edge_attr)
        return super().forward(h, bag, edge_attr) if new is None else new[0]


def twin_of(layer: Layer) -> Layer:
    """A compiled layer of the very same parts."""
    twin: Layer
    if isinstance(layer, TwoStreamLayer):
        twin = CompiledTwoStreamLayer(layer.features, layer.marks, residual=layer.residual)
    else:
        twin = CompiledSingleStreamLayer(layer.features, residual=layer.residual)
    twin.dropout, twin.training = layer.dropout, layer.training
    return twin


def streams_of(layer: Layer) -> list[StreamLayer]:
    """The layer's streams, that of the features first."""
    return [layer.features, layer.marks] if isinstance(layer, TwoStreamLayer) else [layer.features]


def drops_now(layer: Layer) -> bool:
    """Whether its dropout drops something."""
    return layer.dropout.training and layer.dropout.p > 0


def has_hooks(module: nn.Module) -> bool:
    """Whether somebody wants to see or change what goes through this very module."""
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )


def why_not(layer: Layer) -> str | None:
    """Why a layer cannot be compiled; None if it can.

    Classes must be known exactly: one made from a class that is known may compute something else.
    """
    if type(layer) not in (TwoStreamLayer, SingleStreamLayer):
        return f"{type(layer).__name__} may compute something else"
    if any(has_hooks(part) for part in layer.modules()):
        return "it has hooks, which a compiled layer would pass by"
    norms = []
    for stream in streams_of(layer):
        conv = stream.conv
        if type(stream) is not StreamLayer or type(conv) is not GIN:
            return f"its convolution is {type(conv).__name__}, not GIN"
        if any(type(linear) is not nn.Linear or linear.bias is None for linear in (conv.lin1, conv.lin2)):
            return "its maps are not plain linear ones with a bias"
        if type(conv.edges) not in (type(None), CategoricalEdges, RealEdges):
            return f"its edge encoder is {type(conv.edges).__name__}"
        norms += [conv.norm, stream.norm]
    kinds = {type(norm) for norm in norms}
    if kinds not in ({RowBatchNorm}, {RowLayerNorm}):
        return f"its norms are {', '.join(sorted(kind.__name__ for kind in kinds))}, not all batch or all layer norms"
    return None


def compiled_layer(
    layer: Layer, h: Tensor, p: Tensor, bag: Bag, edge_attr: Tensor | None
) -> tuple[Tensor, Tensor] | None:
    """New features and marks; None where the loops do not serve these tensors."""
    parts = LayerParts.of(layer)
    infers = parts.fixed and not torch.is_grad_enabled()
    if not (infers or parts.takes_statistics(bag.num_rows)):
        return None
    if p.dtype != h.dtype or not parts.fit(h, h.shape[1], p.shape[1]):
        return None
    edges = EdgeValues.of(parts.streams[0].conv, bag.row_adjacency, edge_attr, h.dtype)
    if not edges.fit(h.shape[1] + p.shape[1]):
        return None
    drops = drops_now(layer)
    parts = parts._replace(residual=layer.residual and not drops)
    rows = whole_copies(bag, edges.kind)
    if infers:
        given = as_array(h), as_array(p)
        new = [np.empty((bag.num_rows, stream.width), given[0].dtype) for stream in parts.streams]
        infer_layer(parts.fixed_streams(edges), rows, given, new)
        new_h, new_p = torch.from_numpy(new[0]), torch.from_numpy(new[1]) if len(new) > 1 else p
    else:
        new_h, new_p = train_layer(parts, edges, rows, (h, p))
    if drops:
        dropped: Tensor = layer.dropout(new_h)
        new_h = dropped + h if layer.residual else dropped
    return new_h, new_p


def train_layer(
    parts: LayerParts, edges: EdgeValues, rows: LayerRows, given: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    """New features and marks of rows, with gradients; batch norms update their running statistics."""
    (h, p), features = given, parts.streams[0]
    plan = StreamPlan(rows.features, rows.marks_of, features.norms, parts.residual)
    new = train_stream(plan, h, p, edges.values, features.weights)
    if len(parts.streams) == 1:
        return new, p
    marks = parts.streams[1]
    plan = StreamPlan(rows.marks, NONE, marks.norms, False)
    return new, train_stream(plan, p, p.new_empty(0, 0), None, marks.weights)


def infer_layer(
    streams: Sequence[FixedStream], rows: LayerRows, given: tuple[Array, Array], out: Sequence[Array]
) -> None:
    """Fill arrays with new features and marks of rows."""
    h, p = given
    streams[0](rows.features, h, p, rows.marks_of, out[0])
    if len(streams) > 1:
        streams[1](rows.marks, p, np.empty((0, 0), h.dtype), NONE, out[1])


def compiled_parts(layers: Iterable[nn.Module], like: Tensor, channels: int, marks: int) -> list[LayerParts] | None:
    """The parts of compiled layers; None where the loops do not know such tensors, or one drops now or has hooks.

    Features and marks that go in are like the tensor, and have so many channels each.
    """
    found: list[LayerParts] = []
    for layer in layers:
        assert isinstance(layer, CompiledTwoStreamLayer | CompiledSingleStreamLayer), "asked where all are compiled"
        parts = LayerParts.of(layer)
        if drops_now(layer) or has_hooks(layer) or not parts.fit(like, channels, marks):
            return None
        found.append(parts)
        channels, marks = parts.streams[0].width, sum(stream.width for stream in parts.streams[1:])
    return found


class StreamParts(NamedTuple):
    """A stream's convolution, norms and weights."""

    conv: GIN
    norms: tuple[Norm, Norm]  # after each of its two maps
    halves: tuple[tuple[Tensor, ...], tuple[Tensor, ...]]  # of each map: weight, bias, then scale and shift of its norm

    @staticmethod
    def of(stream: StreamLayer) -> StreamParts:
        """Those of a stream that `why_not` finds nothing against."""
        conv = cast(GIN, stream.conv)
        norms: tuple[Norm, Norm] = (conv.norm, stream.norm)
        one, two = (norm if isinstance(norm, RowBatchNorm) else norm.norm for norm in norms)
        first = conv.lin1.weight, conv.lin1.bias, one.weight, one.bias
        return StreamParts(conv, norms, (first, (conv.lin2.weight, conv.lin2.bias, two.weight, two.bias)))

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """As `train_stream` takes them."""
        return self.conv.eps, *self.halves[0], *self.halves[1]

    @property
    def width(self) -> int:
        """Channels that come out."""
        return len(self.halves[1][0])


class LayerParts(NamedTuple):
    """The streams of a layer, and how they are joined."""

    streams: list[StreamParts]  # the features' stream, then that of the marks
    by_batch: bool  # whether norms are batch norms
    residual: bool  # add the input features to the output

    @staticmethod
    def of(layer: Layer) -> LayerParts:
        """Those of a layer that `why_not` finds nothing against."""
        streams = [StreamParts.of(stream) for stream in streams_of(layer)]
        return LayerParts(streams, isinstance(streams[0].norms[0], RowBatchNorm), bool(layer.residual))

    @property
    def fixed(self) -> bool:
        """Whether norms need nothing from the batch now."""
        return not self.by_batch or all(norm.fixed for stream in self.streams for norm in stream.norms)

    def takes_statistics(self, count: int) -> bool:
        """Whether `train_layer` serves so many rows now: all norms take their statistics, and these have a spread."""
        norms = [norm for stream in self.streams for norm in stream.norms]
        return not self.by_batch or (count > 1 and not any(norm.fixed for norm in norms))

    def fit(self, like: Tensor, channels: int, marks: int) -> bool:
        """Whether the loops know such tensors, and the weights are as wide as they need to be."""
        known = like.device.type == "cpu" and like.dtype in (torch.float32, torch.float64)
        if not known or torch.is_autocast_enabled("cpu"):
            return False
        for stream, inputs in zip(self.streams, (channels + marks, marks), strict=False):
            one, two = stream.halves
            if any(weight.dtype != like.dtype or weight.device != like.device for weight in (*one, *two)):
                return False
            if one[0].shape[1] != inputs or two[0].shape[1] != len(one[0]):
                return False
        return not self.residual or self.streams[0].width == channels

    def fixed_streams(self, edges: EdgeValues) -> list[FixedStream]:
        """The streams as they are at inference."""
        found: list[FixedStream] = []
        for stream, values in zip(self.streams, (edges.values, None), strict=False):
            one, two = (FixedHalf.of(norm, half) for norm, half in zip(stream.norms, stream.halves, strict=True))
            dtype = one.weight.dtype
            vectors = np.empty((0, 0), dtype) if values is None else as_array(values)
            scale, residual = dtype.type(1 + stream.conv.eps.item()), self.residual and not found
            found.append(FixedStream((one, two), not self.by_batch, vectors, scale, residual))
        return found


class EdgeValues(NamedTuple):
    """The edges' vectors and which of them each message has."""

    values: Tensor | None  # ``(K, C)``; None without edge features
    kind: Array  # the row of each message

    @staticmethod
    def of(conv: GIN, adjacency: Adjacency, edge_attr: Tensor | None, dtype: torch.dtype) -> EdgeValues:
        """Those of a layer."""
        term = conv.edge_term(edge_attr)
        if term is None:
            return EdgeValues(None, np.zeros(adjacency.num_edges, np.int64))
        return EdgeValues(term.values.to(dtype), as_array(adjacency.kinds(term.index)))

    def fit(self, width: int) -> bool:
        """Whether there is a vector of that width for each message."""
        return self.values is None or (self.values.shape[1] == width and len(self.values) > self.kind.max(initial=-1))
