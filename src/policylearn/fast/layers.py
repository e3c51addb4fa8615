"""Twins of the layers of one and of two streams: the same weights, made in one compiled step.

Where the tensors at hand do not allow for it (a device, a precision or widths that the loops do not know, a single row
for a batch norm, fixed statistics with gradients) a twin runs the layer's own forward pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from policylearn.bags import Bag
from policylearn.fast.inference import FixedLayer, Half, infer_layers
from policylearn.fast.network_step import NetworkStep, States, network_step
from policylearn.fast.rows import DTYPES, Kinds, Rows, as_array
from policylearn.fast.streams import CompiledNorm, LayerSettings
from policylearn.fast.threads import Array
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


class CompiledTwoStreamLayer(TwoStreamLayer):
    """See `TwoStreamLayer`."""

    def forward(self, h: Tensor, p: Tensor, bag: Bag, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both streams, ``(R, C)`` and ``(R, C)``."""
        new = compiled_layer(self, h, p, bag, edge_attr)
        return super().forward(h, p, bag, edge_attr) if new is None else (new[0], new[1])


class CompiledSingleStreamLayer(SingleStreamLayer):
    """See `SingleStreamLayer`; its marks have no channels."""

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


def compiled_layer(layer: Layer, h: Tensor, p: Tensor, bag: Bag, edge_attr: Tensor | None) -> Sequence[Tensor] | None:
    """New features and marks; None where the loops do not serve these tensors."""
    parts = LayerParts.of(layer)
    width = 1
    infers = parts.fixed and not torch.is_grad_enabled()
    if not (infers or parts.takes_statistics(bag.num_rows // width)):
        return None
    if p.dtype != h.dtype or not parts.fit(h, h.shape[1], p.shape[1], residual=layer.residual):
        return None
    rows = Rows.of(bag)
    edges = EdgeValues.of(parts.convs[0], rows, edge_attr, h.dtype)
    if not edges.fit(h.shape[1] + p.shape[1]):
        return None
    drops = drops_now(layer)
    residual = layer.residual and not drops
    new: Sequence[Tensor]
    layer_rows = rows.layer(edges.kinds, width)
    if infers:
        given = h.detach().contiguous().numpy(), p.detach().contiguous().numpy()
        new = [
            torch.from_numpy(one) for one in infer_layers([parts.fixed_layer(edges, residual)], layer_rows, given)[-1]
        ]
    else:
        step = NetworkStep([parts.settings(residual)], layer_rows)
        new = train_layers([parts], [edges], step, [(h, p)])[-1]
    if not drops:
        return new
    dropped: Tensor = layer.dropout(new[0])
    return [dropped + h if layer.residual else dropped, *new[1:]]


def remember(norm: RowBatchNorm, found: Array, count: int) -> None:
    """See `RowBatchNorm.remember`; mean and biased variance as they come out of the loops, ``(2, C)``."""
    if norm.track and norm.training:
        mean, variance = norm.running_mean.numpy(), norm.running_var.numpy()
        mean += norm.momentum * (found[0] - mean)
        variance += norm.momentum * (found[1] * (count / (count - 1)) - variance)


def train_layers(parts: Sequence[LayerParts], edges: Sequence[EdgeValues], step: NetworkStep, given: States) -> States:
    """See `network_step`; norms remember what they find.

    Args:
        parts: of the layers.
        edges: of each layer.
        step: layers and rows.
        given: features and marks that go in, and what is known in front of the layers.
    """
    tensors = [[own.values, *one.weights()] for one, own in zip(parts, edges, strict=True)]
    new, statistics = network_step(step, given, tensors)
    for one, found, lists in zip(parts, statistics, step.rows.features, strict=True):
        for norm, own in zip(one.norms, found, strict=False):  # layer norms found nothing
            remember(norm, own, lists.total // lists.width)
    return new


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

    def weights(self) -> list[Tensor]:
        """All weights as `network_step` takes them."""
        flat: list[Tensor] = []
        for stream, conv in enumerate(self.convs):
            flat += [conv.eps, *self.affine[2 * stream], *self.affine[2 * stream + 1]]
        return flat

    @property
    def eps(self) -> tuple[tuple[float, float], ...]:
        """What norms add to variances, two per stream."""
        own = [norm.eps for norm in self.norms]
        return tuple(zip(own[::2], own[1::2], strict=True))

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

    def settings(self, residual: bool) -> LayerSettings:
        """All but the weights."""
        return LayerSettings(self.kind, self.eps, residual, len(self.convs))

    @property
    def scales(self) -> tuple[Any, Any]:
        """Of a node's own state, in both streams."""
        number = DTYPES[self.convs[0].lin1.weight.dtype]
        return number(1 + self.convs[0].eps.item()), number(1 + self.convs[-1].eps.item())

    def fixed_layer(self, edges: EdgeValues, residual: bool) -> FixedLayer:
        """The layer as it is at inference."""
        halves = [self._fixed_half(place) for place in range(len(self.norms))]
        nothing = np.empty((0, 0), halves[0][0].dtype)
        return FixedLayer(
            mlps=list(zip(halves[::2], halves[1::2], strict=True)),
            by_row=self.kind == "layer",
            values=nothing if edges.values is None else as_array(edges.values),
            scales=self.scales,
            residual=residual,
        )

    def _fixed_half(self, place: int) -> Half:
        norm, (weight, bias, scale, shift) = self.norms[place], (as_array(one) for one in self.affine[place])
        if self.kind == "batch":
            scale = scale / np.sqrt(as_array(norm.running_var) + weight.dtype.type(norm.eps))
            bias = bias - as_array(norm.running_mean)
        return weight, bias, scale, shift, weight.dtype.type(norm.eps)


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
