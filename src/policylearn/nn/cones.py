"""Inference in which the unmarked graph is computed once, and of each marked copy only what its mark can reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from policylearn.kernels import (
    Cones,
    FixedLayer,
    Layout,
    Piece,
    Pieces,
    States,
    as_array,
    check_edges,
    empty_rows,
    marked_rows,
    message_arrays,
    unmarked_states,
    use_compiled,
)
from policylearn.nn.convs import GIN
from policylearn.nn.encoders import Encoder, TwoStreamEncoder, TwoStreamLayer
from policylearn.nn.features import CategoricalEdges
from policylearn.nn.graphs import Graphs
from policylearn.nn.norms import has_hooks

COPIES = 1 << 13
"""Nodes of the copies that are worked on together, so few that their rows stay in the cache."""


@dataclass(frozen=True)
class ConeInference:
    """An encoder of two streams over the copies of some graphs; exact, up to rounding.

    Args:
        graphs: the batch.
        layers: the encoder's, with norms that need nothing from the batch.
        still: states of the unmarked graphs.
    """

    graphs: Graphs
    layers: list[FixedLayer]
    still: States

    @staticmethod
    def of(encoder: Encoder, graphs: Graphs) -> ConeInference | None:
        """Compute the unmarked graphs; None where the encoder, its norms or the device do not allow for cones.

        Gradients do not go through cones: in training that of every mark is needed, wherever it is.
        """
        if type(encoder) is not TwoStreamEncoder or encoder.training or torch.is_grad_enabled() or has_hooks(encoder):
            return None
        features: Tensor = encoder.node_encoder(graphs.x)
        if not use_compiled(features) or torch.is_autocast_enabled("cpu"):
            return None
        kinds: dict[tuple[int, ...] | None, Any] = {}
        layers = [fixed_layer(layer, graphs, features.dtype, kinds) for layer in encoder.layers]
        known = [layer for layer in layers if layer is not None]
        if len(known) < len(layers):
            return None
        nodes = graphs.num_nodes
        h = empty_rows(nodes, features.shape[1] + 1, features)
        h[:, 0] = 0
        h[:, 1:] = features
        layout = Layout(graphs.adjacency, torch.arange(nodes + 1), 1)
        return ConeInference(graphs, known, unmarked_states(known, layout, graphs.ptr, h, h.new_zeros(nodes, 1)))

    @cached_property
    def unmarked(self) -> Tensor:
        """The unmarked graphs' node states, ``(N, C)``."""
        return self.still.last

    def _sizes(self, roots: Tensor) -> Tensor:
        """Nodes of each root's graph: so many rows its copy has at most."""
        return self.graphs.sizes.index_select(0, self.graphs.batch.index_select(0, roots))

    def rows(self, roots: Tensor, max_rows: int) -> Iterator[tuple[Cones, Tensor, int]]:
        """Cones, their rows' states and the number of their first root, for neighbouring roots at a time.

        Args:
            roots: of copies, ``(copies,)``.
            max_rows: rows held at once.
        """
        for start, end in self._chunks(roots, max_rows):
            for cones, rows, first in self._rows(roots[start:end]):
                yield cones, rows, start + first

    def _rows(self, roots: Tensor) -> list[tuple[Cones, Tensor, int]]:
        ends = np.cumsum(self._sizes(roots).numpy())
        found: list[tuple[Cones, Tensor, int]] = []

        def work(piece: Piece) -> None:
            first, last = piece.nodes
            cones = Cones.around(self.graphs.adjacency, roots[first:last], len(self.layers))
            found.append((cones, marked_rows(self.layers, self.still, cones), first))

        Pieces(np.concatenate([[0], ends]), COPIES).each(work)
        return sorted(found, key=lambda one: one[2])

    def _chunks(self, roots: Tensor, max_rows: int) -> list[tuple[int, int]]:
        """Neighbouring roots whose graphs have at most ``max_rows`` nodes together (but at least one root)."""
        ends = self._sizes(roots).cumsum(0)
        chunks: list[tuple[int, int]] = []
        start = 0
        while start < len(roots):
            taken = 0 if start == 0 else int(ends[start - 1])
            end = max(start + 1, int(torch.searchsorted(ends, taken + max_rows, right=True)))
            chunks.append((start, end))
            start = end
        return chunks


def fixed_layer(
    layer: torch.nn.Module, graphs: Graphs, dtype: torch.dtype, kinds: dict[tuple[int, ...] | None, Any]
) -> FixedLayer | None:
    """The layer as it is at inference; None if it is not made of GINs, drops something or reads the batch.

    Args:
        layer: of the encoder.
        graphs: the batch.
        dtype: of the states.
        kinds: what layers with the same edge features share, see `_edge_values`; added to.
    """
    if type(layer) is not TwoStreamLayer or layer.drops:
        return None
    conv, marks = layer.features.gin, layer.marks.gin
    halves = layer.features.fixed(), layer.marks.fixed()
    if conv is None or marks is None or halves[0] is None or halves[1] is None:
        return None
    if any(half.weight.dtype != dtype for stream in halves if stream is not None for half in stream):
        return None
    values, key = _edge_values(conv, graphs, kinds)
    if values is not None:
        check_edges(graphs.adjacency, values, conv.lin1.in_features, shared=key is not None)
    return FixedLayer(
        features=halves[0],
        marks=halves[1],
        edges=message_arrays(graphs.adjacency, values, kinds[key], (conv.scale.detach(), marks.scale.detach())),
        residual=layer.residual,
    )


def _edge_values(
    conv: GIN, graphs: Graphs, kinds: dict[tuple[int, ...] | None, Any]
) -> tuple[Tensor | None, tuple[int, ...] | None]:
    """The edges' vectors, and the key of the row that each message has of them, which no weight has a part in."""
    categories = conv.edges
    if type(categories) is not CategoricalEdges or graphs.edge_attr is None:
        term = conv.edge_term(graphs.edge_attr)
        kinds.setdefault(None, as_array(graphs.adjacency.kinds(None)))
        return (None if term is None else term.each_edge().detach()), None
    if categories.sizes not in kinds:
        kinds[categories.sizes] = as_array(graphs.adjacency.kinds(categories.index(graphs.edge_attr)))
    return categories.values().detach(), categories.sizes
