"""NGNN, a GNN on the ego net of every node, in its three published forms (Zhang and Li 2021)."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Bag, Graphs, Selection, attached, attached_ego_nets, check_rows, whole_copies
from policylearn.models.protocol import PlainModel
from policylearn.models.registry import Inputs, RowLimitSettings, System, TransformSpec, register
from policylearn.nn.convs import build_gin
from policylearn.nn.encoders import StreamLayer
from policylearn.nn.features import Features, NodeEncoder
from policylearn.nn.norms import MLP, RowBatchNorm, two_maps
from policylearn.nn.readouts import NodesThenCopies
from policylearn.nn.segments import segment_sum
from policylearn.settings.schema import DropShare, NotNegative, Positive

TYPE_CHANNELS = 8
"""Width of the embedded node type on ZINC; the type stands beside it as a plain number."""

NetPooling = Literal["mean", "root"]


class EgoLabels(nn.Module):
    r"""The labels of the rows of ego nets, ``(R, C)``: :math:`z[d + 1] + z[d' + 1] + (w r + b)`.

    d is the distance to the root; the second label repeats it where two edges or more lead nearer to the root, and is 0
    elsewhere, which has a vector of its own; r is the resistance to the root.
    """

    def __init__(self, hops: int, channels: int, *, resistance: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(hops + 2, channels)
        self.resistance = nn.Linear(1, channels) if resistance else None

    def forward(self, bag: Bag) -> Tensor:
        first = bag.marks[:, 0].long() + 1
        labels: Tensor = self.table(first) + self.table(first * (bag.marks[:, 1] >= 2))
        if self.resistance is not None:
            labels = labels + self.resistance(bag.marks[:, 2:3].to(labels.dtype))
        return labels


class NestedSettings(RowLimitSettings, frozen=True):
    """What networks on labelled ego nets have in common."""

    height: Positive = 3
    """How far ego nets reach."""
    resistance: bool = True
    """Whether rows know their resistance to the root."""


def labelled_ego_nets(graphs: Graphs, settings: NestedSettings) -> Bag:
    """The ego nets that came with the data; marks are distance, arrivals and, where wanted, resistance."""
    check_rows(len(attached(graphs, "ego_root", "ego_nets")), settings.max_rows, 2 * settings.channels)
    return attached_ego_nets(graphs, ["ego_distance", "ego_arrivals", *["ego_resistance"] * settings.resistance])


class NGNNSettings(NestedSettings, frozen=True):
    """The published run on ogbg-molhiv."""

    channels: Positive = 300
    height: Positive = 4
    virtual_node: bool = True
    """Whether a virtual node joins all ego nets of a graph."""
    residual: bool = False
    """Add what each layer read to its output, and a virtual node's state to its update."""
    dropout: DropShare = 0.65
    """Dropout after every layer, and on updates of the virtual node."""


class NGNN(PlainModel):
    r"""The authors' network on OGB: mean over the rows of each ego net, mean over the nets of a graph, one linear map.

    Layer: :math:`h \leftarrow h + p_g`, then :math:`\mathrm{relu}(\mathrm{BN}(\mathrm{GINE}(h)))`, without the relu in
    the last. The virtual node p of a graph is moved by the sum over all of its rows of what each layer read. So nets
    are not independent of each other, unlike in the paper's text.
    """

    def __init__(self, settings: NGNNSettings, inputs: Inputs) -> None:
        super().__init__()
        channels, layers = settings.channels, range(settings.layers)
        self.settings, self.residual = settings, settings.residual
        self.node_encoder = NodeEncoder(inputs.node_features, channels)
        self.labels = EgoLabels(settings.height, channels, resistance=settings.resistance)
        self.convs = nn.ModuleList(
            build_gin(channels, channels, hidden=2 * channels, edges=inputs.edge_features) for _ in layers
        )
        self.norms = nn.ModuleList(RowBatchNorm(channels) for _ in layers)
        self.virtual = nn.Parameter(torch.zeros(1, channels)) if settings.virtual_node else None
        self.updates = nn.ModuleList(
            two_maps(channels, 2 * channels, channels) for _ in layers[1:] if settings.virtual_node
        )
        self.dropout = nn.Dropout(settings.dropout)
        self.readout = NodesThenCopies("mean", "mean")
        self.head = nn.Linear(channels, inputs.outputs)

    def outputs(self, graphs: Graphs) -> Tensor:
        bag = labelled_ego_nets(graphs, self.settings)
        h: Tensor = bag.spread(self.node_encoder(graphs)) + self.labels(bag)
        virtual = None if self.virtual is None else self.virtual.expand(graphs.num_graphs, -1)
        last = len(self.convs) - 1
        for depth, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            if virtual is not None:
                h = h + virtual.index_select(0, bag.graph_of_row)
            new = norm(conv(h, bag, graphs.edge_attr))
            new = self.dropout(new if depth == last else torch.relu(new))
            if virtual is not None and depth < last:
                heard = virtual + segment_sum(h, bag.graph_of_row, graphs.num_graphs)
                update = self.dropout(self.updates[depth](heard))
                virtual = virtual + update if self.residual else update
            h = new + h if self.residual else new
        return self.head(self.readout(h, bag, graphs))


class NGNNZincSettings(NestedSettings, frozen=True):
    """The defaults of the published script; height and labels as in the group's command for ZINC."""

    pool: NetPooling = "mean"
    """Mean over an ego net, or the row of its root."""


class LabelledLayer(nn.Module):
    r""":math:`\mathrm{elu}(\mathrm{BN}(\mathrm{GINE}([h, q])))` with q the labels of the rows, as wide as h."""

    def __init__(self, settings: NGNNZincSettings, inputs: int, edges: Features) -> None:
        super().__init__()
        self.labels = EgoLabels(settings.height, inputs, resistance=settings.resistance)
        self.conv = build_gin(2 * inputs, settings.channels, hidden=4 * inputs, edges=edges)
        self.norm = RowBatchNorm(settings.channels)

    def forward(self, h: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        labelled = torch.cat([h, self.labels(bag)], dim=1)
        return functional.elu(self.norm(self.conv(labelled, bag, edge_attr)))


class NGNNZinc(PlainModel):
    """The group's network for ZINC: every layer reads the labels; pooled over each net, or its root, then over nets."""

    def __init__(self, settings: NGNNZincSettings, inputs: Inputs) -> None:
        super().__init__()
        self.settings, channels = settings, settings.channels
        self.plain_columns = len(inputs.node_features.categorical)
        self.node_encoder = NodeEncoder(inputs.node_features, TYPE_CHANNELS)
        widths = [TYPE_CHANNELS + self.plain_columns, *[channels] * (settings.layers - 1)]
        self.layers = nn.ModuleList(LabelledLayer(settings, width, inputs.edge_features) for width in widths)
        self.readout = NodesThenCopies(settings.pool, "mean")
        self.lin1, self.lin2, self.lin3 = nn.Linear(channels, 32), nn.Linear(32, 16), nn.Linear(16, inputs.outputs)

    def outputs(self, graphs: Graphs) -> Tensor:
        bag = labelled_ego_nets(graphs, self.settings)
        types = self.node_encoder(graphs)
        h = bag.spread(torch.cat([types, graphs.x[:, : self.plain_columns].to(types.dtype)], dim=1))
        for depth, layer in enumerate(self.layers):
            new = layer(h, bag, graphs.edge_attr)
            h = new if depth == 0 else new + h
        vector = functional.elu(self.lin1(self.readout(h, bag, graphs)))
        return self.lin3(functional.elu(self.lin2(vector)))


class NGNNSunSettings(RowLimitSettings, frozen=True):
    """SUN's settings for DS-GNN on ZINC, as wide as 500,000 weights allow: 457,543."""

    hops: NotNegative = 3
    """How far ego nets reach."""


class NGNNSun(PlainModel):
    """NGNN as the SUN project ran it: unmarked ego nets in which the nodes outside stay as isolated rows.

    It is DS-GNN without set layers: GINE on every copy, all layers side by side, means over nodes and over copies.
    """

    def __init__(self, settings: NGNNSunSettings, inputs: Inputs) -> None:
        super().__init__()
        channels = settings.channels
        self.max_rows, self.width = settings.max_rows, (settings.layers + 1) * channels
        self.rule = whole_copies("ego", settings.hops)
        self.node_encoder = NodeEncoder(inputs.node_features, channels)
        self.layers = nn.ModuleList(
            StreamLayer(build_gin(channels, channels, edges=inputs.edge_features), RowBatchNorm(channels))
            for _ in range(settings.layers)
        )
        self.readout = NodesThenCopies("mean", "mean")
        self.head = MLP(self.width, 2 * self.width, inputs.outputs)

    def outputs(self, graphs: Graphs) -> Tensor:
        check_rows(int((graphs.sizes**2).sum()), self.max_rows, self.width)
        bag = self.copies(graphs)
        states = [bag.spread(self.node_encoder(graphs))]
        for layer in self.layers:
            states.append(layer(states[-1], bag, graphs.edge_attr))
        return self.head(self.readout(torch.cat(states, dim=1), bag, graphs))

    def copies(self, graphs: Graphs) -> Bag:
        """Copies with all nodes of their graph, but only the edges of one ego net."""
        return self.rule(graphs, Selection.full(graphs.ptr), unmarked=False)


def transforms(settings: Any, inputs: Inputs) -> list[TransformSpec]:
    """The ego nets of all nodes, with what their labels need."""
    return [("ego_nets", {"hops": settings.height, "arrivals": True, "resistance": settings.resistance})]


NETS = "holds one state per node of every ego net: n times the size of a net"
COPIES = "holds n * n states per graph, in evaluation too"
ZINC, SUN = "Nested GNN for ZINC (Huang et al. 2022)", "Nested GNN as in SUN's comparison (Frasca et al. 2022)"
register(System("ngnn", "Nested GNN (Zhang and Li 2021)", NGNNSettings, NGNN, transforms, note=NETS))
register(System("ngnn-zinc", ZINC, NGNNZincSettings, NGNNZinc, transforms, note=NETS))
register(System("ngnn-sun", SUN, NGNNSunSettings, NGNNSun, note=COPIES))
