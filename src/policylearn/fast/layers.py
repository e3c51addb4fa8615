"""Twins of the layers of one and of two streams: the same weights, made in one compiled step.

Where the tensors at hand do not allow for it (a device, a precision or widths that the loops do not know, a single row
for a batch norm, fixed statistics with gradients) a twin runs the layer's own forward pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np
import torch
from torch import Tensor, nn

from policylearn.bags import Bag
from policylearn.fast.rows import DTYPES, NONE, Array, Kinds, LayerRows, RowLists, Rows, as_array
from policylearn.fast.streams import CompiledNorm, FixedStream, StreamPlan, train_stream
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

FixedStates = tuple[Array, Array]
"""Features and marks; marks without channels where there is one stream."""


class CompiledTwoStreamLayer(TwoStreamLayer):
    """See `TwoStreamLayer`."""

    @classmethod
    def of(cls, layer: TwoStreamLayer) -> Self:
        """One of the very same parts."""
        twin = cls(layer.features, layer.marks, residual=layer.residual)
        twin.dropout, twin.training = layer.dropout, layer.training
        return twin

    def forward(self, h: Tensor, p: Tensor, bag: Bag, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both streams, ``(R, C)`` and ``(R, C)``."""
        new = compiled_layer(self, h, p, bag, edge_attr)
        return super().forward(h, p, bag, edge_attr) if new is None else (new[0], new[1])


class CompiledSingleStreamLayer(SingleStreamLayer):
    """See `SingleStreamLayer`; its marks have no channels."""

    @classmethod
    def of(cls, layer: SingleStreamLayer) -> Self:
        """One of the very same parts."""
        twin = cls(layer.features, residual=layer.residual)
        twin.dropout, twin.training = layer.dropout, layer.training
        return twin

    def forward(self, h: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        """One layer, ``(R, C) -> (R, C)``."""
        new = compiled_layer(self, h, h.new_empty(len(h), 0), bag, edge_attr)
        return super().forward(h, bag, edge_attr) if new is None else new[0]


Layer = TwoStreamLayer | SingleStreamLayer


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
    """What keeps a layer from having a twin; None if nothing does.

    Classes must be known exactly: one made from a class that is known may compute something else.
    """
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


def compiled_layer(layer: Layer, h: Tensor, p: Tensor, bag: Bag, edge_attr: Tensor | None) -> list[Tensor] | None:
    """New features and marks; None where the loops do not serve these tensors."""
    parts = LayerParts.of(layer)
    infers = parts.fixed and not torch.is_grad_enabled()
    if not (infers or parts.takes_statistics(bag.num_rows)):
        return None
    if p.dtype != h.dtype or not parts.fit(h, h.shape[1], p.shape[1], residual=layer.residual):
        return None
    rows = Rows.of(bag)
    edges = EdgeValues.of(parts.convs[0], rows, edge_attr, h.dtype)
    if not edges.fit(h.shape[1] + p.shape[1]):
        return None
    drops = drops_now(layer)
    residual = layer.residual and not drops
    if infers:
        given = h.detach().contiguous().numpy(), p.detach().contiguous().numpy()
        made = FixedLayer.of(parts, edges, residual)(rows.layer(edges.kinds), given)
        new = [torch.from_numpy(one) for one in made]
    else:
        new = list(train_layer(parts, edges, residual, rows.layer(edges.kinds), (h, p)))
    if drops:
        dropped: Tensor = layer.dropout(new[0])
        new[0] = dropped + h if layer.residual else dropped
    return new


def train_layer(
    parts: LayerParts, edges: EdgeValues, residual: bool, rows: LayerRows, states: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    """New features and marks of rows, with gradients; norms remember what they find."""
    h, p = states
    new_h = _train_stream(parts, 0, rows.features, (h, p, rows.marks_of), edges.values, residual)
    if len(parts.convs) == 1:
        return new_h, p
    assert rows.marks is not None, "there are two streams"
    return new_h, _train_stream(parts, 1, rows.marks, (p, p.new_empty(0, 0), NONE), None, False)


def _train_stream(
    parts: LayerParts,
    number: int,
    lists: RowLists,
    states: tuple[Tensor, Tensor, Array],
    values: Tensor | None,
    residual: bool,
) -> Tensor:
    h, p, marks_of = states
    norms, (one, two) = parts.norms[2 * number :][:2], parts.affine[2 * number :][:2]
    plan = StreamPlan(lists, marks_of, parts.kind, (norms[0].eps, norms[1].eps), residual)
    new, found = train_stream(plan, h, p, values, (parts.convs[number].eps, *one, *two))
    for norm, statistics in zip(norms, found, strict=False):  # layer norms found nothing
        remember(norm, statistics, lists.total)
    return new


def remember(norm: RowBatchNorm, found: Array, count: int) -> None:
    """See `RowBatchNorm.remember`; mean and biased variance as they come out of the loops, ``(2, C)``."""
    if norm.track and norm.training:
        mean, variance = norm.running_mean.numpy(), norm.running_var.numpy()
        mean += norm.momentum * (found[0] - mean)
        variance += norm.momentum * (found[1] * (count / (count - 1)) - variance)


def in_a_row(layers: Iterable[nn.Module], like: Tensor, channels: int, marks: int) -> list[LayerParts] | None:
    """The parts of compiled layers; None where the loops do not know such tensors, or one drops now or has hooks.

    Args:
        layers: one after the other.
        like: a tensor as those that go through them.
        channels: of the features that go in.
        marks: of the marks that go in.
    """
    found: list[LayerParts] = []
    for layer in layers:
        assert isinstance(layer, CompiledTwoStreamLayer | CompiledSingleStreamLayer), "asked where all are compiled"
        parts = LayerParts.of(layer)
        if drops_now(layer) or has_hooks(layer) or not parts.fit(like, channels, marks, residual=layer.residual):
            return None
        found.append(parts)
        channels = parts.convs[0].lin2.out_features
        marks = parts.convs[1].lin2.out_features if len(parts.convs) > 1 else 0
    return found


class LayerParts(NamedTuple):
    """What a layer is made of, stream by stream: one convolution and two norms each.

    Args:
        convs: one per stream.
        norms: two per stream.
        kind: of all norms.
        affine: weight and bias of each map, scale and shift of the norm behind it; two per stream.
    """

    convs: list[GIN]
    norms: list[Any]
    kind: CompiledNorm
    affine: Sequence[tuple[Tensor, Tensor, Tensor, Tensor]]

    @staticmethod
    def of(layer: Layer) -> LayerParts:
        """Those of a layer that `why_not` finds nothing against."""
        convs: list[GIN] = []
        norms: list[Any] = []
        for stream in streams_of(layer):
            conv = cast(GIN, stream.conv)
            convs.append(conv)
            norms += [conv.norm, stream.norm]
        kind: CompiledNorm = "batch" if isinstance(norms[0], RowBatchNorm) else "layer"
        maps = [linear for conv in convs for linear in (conv.lin1, conv.lin2)]
        owns = norms if kind == "batch" else [norm.norm for norm in norms]
        affine = [(linear.weight, linear.bias, own.weight, own.bias) for linear, own in zip(maps, owns, strict=True)]
        return LayerParts(convs, norms, kind, affine)

    @property
    def fixed(self) -> bool:
        """Whether norms need nothing from the batch now."""
        return self.kind == "layer" or all(norm.fixed for norm in self.norms)

    def takes_statistics(self, count: int) -> bool:
        """Whether `network_step` serves so many rows now: all norms take their statistics, and these have a spread."""
        return self.kind == "layer" or (count > 1 and not any(norm.fixed for norm in self.norms))

    def fit(self, like: Tensor, channels: int, marks: int, *, residual: bool) -> bool:
        """Whether the loops know such tensors, and the weights are as wide as they need to be."""
        if like.device.type != "cpu" or like.dtype not in DTYPES or torch.is_autocast_enabled("cpu"):
            return False
        if any(one.dtype != like.dtype or one.device != like.device for place in self.affine for one in place):
            return False
        for stream, inputs in enumerate((channels + marks, marks)[: len(self.convs)]):
            first, second = self.affine[2 * stream][0], self.affine[2 * stream + 1][0]
            if first.shape[1] != inputs or second.shape[1] != len(first):
                return False
        return not residual or len(self.affine[1][0]) == channels


class FixedLayer(NamedTuple):
    """A layer at inference, where norms need nothing from the batch: its streams, that of the features first."""

    streams: list[FixedStream]

    @staticmethod
    def of(parts: LayerParts, edges: EdgeValues, residual: bool) -> FixedLayer:
        """A layer as it is now."""
        streams = []
        for number, conv in enumerate(parts.convs):
            halves = [_fixed_half(parts, 2 * number + half) for half in range(2)]
            dtype = halves[0][1].dtype
            own = edges.values if number == 0 else None
            values = np.empty((0, 0), dtype) if own is None else as_array(own)
            scale = dtype.type(1 + conv.eps.item())
            streams.append(FixedStream(halves, parts.kind == "layer", values, scale, residual and number == 0))
        return FixedLayer(streams)

    def __call__(self, rows: LayerRows, given: FixedStates, known: FixedStates | None = None) -> FixedStates:
        """New features and marks of rows, behind those that are known."""
        h, p = given
        nothing = np.empty((0, 0), h.dtype)
        every = [(rows.features, h, p, rows.marks_of), (rows.marks, p, nothing, NONE)]
        made = [nothing, nothing]
        for number, (stream, (lists, own, marks, marks_of)) in enumerate(zip(self.streams, every, strict=False)):
            assert lists is not None, "there are rows for each stream"
            width = len(stream.halves[1][0])
            ahead = np.empty((0, width), h.dtype) if known is None else known[number]
            made[number] = np.empty((len(ahead) + lists.count, width), h.dtype)
            made[number][: len(ahead)] = ahead
            stream(lists, own, marks, marks_of, made[number][len(ahead) :])
        return made[0], made[1]


def _fixed_half(parts: LayerParts, place: int) -> tuple[Tensor, Array, Array, Array, Any]:
    norm, (weight, *vectors) = parts.norms[place], parts.affine[place]
    bias, scale, shift = (as_array(one) for one in vectors)
    if parts.kind == "batch":
        scale = scale / np.sqrt(as_array(norm.running_var) + scale.dtype.type(norm.eps))
        bias = bias - as_array(norm.running_mean)
    return weight.detach(), bias, scale, shift, scale.dtype.type(norm.eps)


class EdgeValues(NamedTuple):
    """The edges' vectors and which of them each message has.

    Args:
        values: ``(K, C)``; None without edge features.
        kinds: the row of each message.
    """

    values: Tensor | None
    kinds: Kinds

    @staticmethod
    def of(conv: GIN, rows: Rows, edge_attr: Tensor | None, dtype: torch.dtype) -> EdgeValues:
        """Those of a layer; what no weight has a part in is worked out once per bag."""
        table = conv.edges
        if isinstance(table, CategoricalEdges) and edge_attr is not None:
            return EdgeValues(table.values().to(dtype), rows.kinds_of(edge_attr, table.sizes, table.index))
        term = conv.edge_term(edge_attr)
        return EdgeValues(None, rows.no_kinds) if term is None else EdgeValues(term.values.to(dtype), rows.edge_ids)

    def fit(self, width: int) -> bool:
        """Whether there is a vector of that width for each message."""
        return self.values is None or (self.values.shape[1] == width and len(self.values) >= self.kinds.most)
