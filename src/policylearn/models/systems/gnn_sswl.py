"""GNN-SSWL and GNN-SSWL+: a state for every pair of nodes, with messages inside copies and across them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Graphs, Selection, attached, check_rows, mark_nodes
from policylearn.models.protocol import PlainModel
from policylearn.models.registry import Inputs, RowLimitSettings, System, TransformSpec, register
from policylearn.nn import MLP, Features, NodeEncoder, RowBatchNorm, build_gin, normed_mlp, segment_sum
from policylearn.settings.schema import Positive


class GNNSSWLSettings(RowLimitSettings, frozen=True):
    """The published runs on ZINC: 272,653 weights, with the pairs (v, v) 385,555."""

    layers: Positive = 6
    """Number of layers, the pooling one not counted."""
    channels: Positive = 96
    cap: Positive = 5
    """Distances from here on are one."""


@dataclass(frozen=True)
class Pairs:
    """All pairs (u, v) of nodes of each graph: v in the copy of root u. Rows are ordered by v, then by u."""

    within: Bag  # the pairs with edges inside copies: v hears its neighbours, u stays
    across: Bag  # the same rows with edges between copies: u hears its neighbours, v stays
    turned: Tensor  # the row of the pair (v, u), ``(R,)``
    own: Tensor  # the row of the pair (v, v), ``(R,)``

    @staticmethod
    def of(graphs: Graphs) -> Pairs:
        """Every node is a root, and copies share the edges of their graph."""
        within = mark_nodes(graphs, Selection.full(graphs.ptr), unmarked=False)
        local = within.node - graphs.ptr.index_select(0, within.graph_of_row)
        turned = within.row_ptr.index_select(0, within.root) + local
        own = within.row_ptr.index_select(0, within.node) + local
        turned_edges = within.row_adjacency.with_rows(turned, within.num_rows)
        across = replace(within, adjacency=turned_edges, width=None, own_copy=within.copy)
        return Pairs(within, across, turned, own)


class PairLayer(nn.Module):
    r"""One layer over pairs, ``(R, C) -> (R, C)``.

    .. math::
        h'(u, v) = \mathrm{relu}(\mathrm{BN}(\mathrm{GINE}_{w \to v}\, h(u, w) + \mathrm{GINE}_{w \to u}\, h(w, v)
        + \mathrm{mlp}((1 + \epsilon)\, h(u, v) + h(v, v))))

    The last term is there with ``own`` (GNN-SSWL+).
    """

    def __init__(self, channels: int, edge_features: Features, *, own: bool) -> None:
        super().__init__()
        self.within = build_gin(channels, channels, edges=edge_features)
        self.across = build_gin(channels, channels, edges=edge_features)
        self.own = normed_mlp(channels, channels) if own else None
        self.eps = nn.Parameter(torch.zeros(1)) if own else None
        self.norm = RowBatchNorm(channels)

    def forward(self, h: Tensor, pairs: Pairs, edge_attr: Tensor | None) -> Tensor:
        new = self.within(h, pairs.within, edge_attr) + self.across(h, pairs.across, edge_attr)
        if self.own is not None and self.eps is not None:
            new = new + self.own((1 + self.eps) * h + h.index_select(0, pairs.own))
        return torch.relu(self.norm(new))


class GNNSSWL(PlainModel):
    """GNN-SSWL, and with ``own`` GNN-SSWL+; pairs start from the node's features and the distance to the root.

    Where the official code fails, on graphs of several components, nodes without a path count as far apart.
    """

    def __init__(self, settings: GNNSSWLSettings, inputs: Inputs, *, own: bool = True) -> None:
        super().__init__()
        self.cap, self.max_rows, self.channels = settings.cap, settings.max_rows, settings.channels
        channels, layers = settings.channels, range(settings.layers)
        self.node_encoder = NodeEncoder(inputs.node_features, channels)
        self.distances = nn.Embedding(settings.cap + 1, channels)
        self.layers = nn.ModuleList(PairLayer(channels, inputs.edge_features, own=own) for _ in layers)
        self.pool = normed_mlp(channels, channels)
        self.norm = RowBatchNorm(channels)
        self.head = MLP(channels, 2 * channels, inputs.outputs)

    def outputs(self, graphs: Graphs) -> Tensor:
        distance = attached(graphs, "pair_distance", "distances").flatten()
        check_rows(len(distance), self.max_rows, self.channels)
        pairs = Pairs.of(graphs)
        bag = pairs.within
        # Distances are ordered by root, then by node: the order of turned pairs.
        distance = distance.index_select(0, pairs.turned).clamp(max=self.cap)
        h = bag.spread(self.node_encoder(graphs)) + self.distances(distance)
        for layer in self.layers:
            h = layer(h, pairs, graphs.edge_attr)
        copies = segment_sum(h, bag.copy, len(bag.roots))  # (R, C) -> (N, C)
        # Norms count a copy once for each of its nodes, as the official code does, so copies become rows again.
        rows = torch.relu(self.norm(self.pool(copies.index_select(0, bag.copy))))  # (N, C) -> (R, C)
        vector = segment_sum(rows, bag.graph_of_row, graphs.num_graphs) / (graphs.sizes**2).unsqueeze(1)
        return self.head(vector)


def transforms(settings: GNNSSWLSettings, inputs: Inputs) -> list[TransformSpec]:
    """Distances of all pairs."""
    return [("distances", {"cap": settings.cap})]


NOTE = "holds n * n states per graph, in evaluation too"
TITLE = "(Zhang et al. 2023)"
without_own = partial(GNNSSWL, own=False)
register(System("gnn-sswl", f"GNN-SSWL {TITLE}", GNNSSWLSettings, without_own, transforms, note=NOTE))
register(System("gnn-sswl-plus", f"GNN-SSWL+ {TITLE}", GNNSSWLSettings, GNNSSWL, transforms, note=NOTE))
