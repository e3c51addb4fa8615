"""SUN: DSS-GNN with weights of their own for roots, and terms that read the roots' states (Frasca et al., 2022)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Graphs, Selection, mark_nodes
from policylearn.models.registry import Inputs, System, register
from policylearn.models.systems.ds_gnn import CopyNetwork, CopySettings
from policylearn.nn import CopiesThenNodes, CopyPool, NormedGIN, normed_mlp, segment_sum
from policylearn.policies import FullPolicy
from policylearn.settings.schema import DropShare, NotNegative, Positive


class SUNSettings(CopySettings, frozen=True):
    """SUN, with a copy per node; the authors' settings on ogbg-molhiv by default."""

    hops: NotNegative = 3
    layers: Positive = 2
    channels: Positive = 64
    pointwise_mlp: bool = False
    """Whether pointwise maps have two layers with a norm; one linear map otherwise."""
    copy_readout: bool = False
    """Whether rows also read the sum over their copy."""
    residual: bool = True
    """Add each layer's input to its output."""
    dropout: DropShare = 0.3
    """On the input, after every layer, and in the head."""


class SUNLayer(nn.Module):
    r"""One layer before its relu, ``(R, D) -> (R, C)``; row (k, v) is node v in the copy of root k.

    With the roots' states :math:`R_k = x_{kk}`, the sums :math:`S_k = \sum_v x_{kv}` and the means
    :math:`M_v = \mathrm{mean}_k\, x_{kv}`, other rows and root rows become

    .. math::
        f_{vv}(R_v) + f_{kk}(R_k) + f_{kv}(x_{kv}) + \mathrm{own}(x)_{kv} + \mathrm{shared}(M)_v + f_S(S_k), \quad
        g(R_k) + \mathrm{own'}(x)_{kk} + \mathrm{shared'}(M)_k + g_S(S_k)

    Convolutions run on all rows; the norms of `own` and `own_root` see only the rows that they are for. The terms of
    S are there with ``copy_readout``.
    """

    def __init__(self, settings: SUNSettings, inputs: int, features: Inputs) -> None:
        super().__init__()
        channels = settings.channels

        def conv() -> NormedGIN:
            return NormedGIN(settings.form, inputs, channels, features.edge_features)

        def pointwise() -> nn.Module:
            return normed_mlp(inputs, channels) if settings.pointwise_mlp else nn.Linear(inputs, channels)

        self.own, self.own_root, self.shared, self.shared_root = conv(), conv(), conv(), conv()
        self.vv, self.kk, self.kv, self.root = pointwise(), pointwise(), pointwise(), pointwise()
        self.copy_readout = pointwise() if settings.copy_readout else None
        self.copy_readout_root = pointwise() if settings.copy_readout else None
        self.pool = CopyPool("mean")

    def forward(self, x: Tensor, bag: Bag, original: Bag, edge_attr: Tensor | None) -> Tensor:
        at_root = bag.node == bag.root
        roots, others = at_root.nonzero().squeeze(1), (~at_root).nonzero().squeeze(1)
        # In the full bag copy k is that of node k: one number indexes both, and roots stand in the order of nodes.
        node, copy = bag.node.index_select(0, others), bag.copy.index_select(0, others)
        root_states = x.index_select(0, roots)  # (N, D)
        mean = self.pool(x, bag)  # (N, D)

        other = self.vv(root_states).index_select(0, node) + self.kk(root_states).index_select(0, copy)
        other = other + self.kv(x).index_select(0, others)
        other = other + self.own.norm(self.own.conv(x, bag, edge_attr).index_select(0, others))
        other = other + self.shared(mean, original, edge_attr).index_select(0, node)
        root = self.root(root_states) + self.shared_root(mean, original, edge_attr)
        root = root + self.own_root.norm(self.own_root.conv(x, bag, edge_attr).index_select(0, roots))
        if self.copy_readout is not None and self.copy_readout_root is not None:
            sums = segment_sum(x, bag.copy, len(roots))  # (N, D)
            other = other + self.copy_readout(sums).index_select(0, copy)
            root = root + self.copy_readout_root(sums)
        rows = root.new_zeros(len(x), root.shape[1])  # (R, C)
        return rows.index_copy(0, others, other).index_copy(0, roots, root)


class SUN(CopyNetwork):
    """SUN; it needs the full bag, since its layers index copies and nodes by the same number."""

    def __init__(self, settings: SUNSettings, inputs: Inputs) -> None:
        super().__init__(settings, inputs, FullPolicy())
        channels = settings.channels
        widths = [self.input.width] + [channels] * (settings.layers - 1)
        self.layers = nn.ModuleList(SUNLayer(settings, width, inputs) for width in widths)
        self.residual = nn.Linear(self.input.width, channels) if settings.residual else None
        self.dropout = nn.Dropout(settings.dropout)
        self.readout = CopiesThenNodes("mean", "mean")
        self.head1, self.head2 = nn.Linear(channels, 2 * channels), nn.Linear(2 * channels, inputs.outputs)

    def outputs(self, graphs: Graphs) -> Tensor:
        selection = self.policy(graphs)
        self.check(graphs, selection)
        bag = self.copies(graphs, selection)
        original = mark_nodes(graphs, Selection.nothing(graphs.ptr))  # the graph itself, as a bag of one copy
        x = self.dropout(self.input(graphs, bag))  # (R, D)
        previous = None if self.residual is None else self.residual(x)
        for layer in self.layers:
            x = self.dropout(torch.relu(layer(x, bag, original, graphs.edge_attr)))
            if previous is not None:
                x = previous = x + previous
        # Every copy has all nodes, so that means over nodes and copies may be taken in either order.
        vectors = self.readout(x, bag, graphs)
        return self.head2(self.dropout(torch.relu(self.head1(vectors))))


NOTE = "needs the full bag and holds n rows per node, at inference too; see 'max_rows'"
register(System("sun", "SUN on a copy per node (Frasca et al., 2022)", SUNSettings, SUN, note=NOTE))
