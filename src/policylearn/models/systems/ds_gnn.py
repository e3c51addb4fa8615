"""ESAN: DS-GNN, a GIN on each copy and a set network over them, and DSS-GNN, whose copies see each other's means.

Both are of Bevilacqua et al., ICLR 2022, on a copy per node or on T drawn ones; there is no unmarked copy.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, BagKind, Graphs, Selection, check_rows, mark_nodes, pieces, whole_copies
from policylearn.models.protocol import AnyBatch, PlainModel
from policylearn.models.registry import Inputs, RowLimitSettings, System, register
from policylearn.nn.convs import GINForm, NormedGIN
from policylearn.nn.encoders import dtype_of
from policylearn.nn.features import Features, NodeEncoder, node_numbers, node_width
from policylearn.nn.norms import MLP
from policylearn.nn.readouts import CopiesThenNodes, CopyPool
from policylearn.nn.segments import group_mean, segment_sum
from policylearn.policies import FullPolicy, Policy, RandomPolicy
from policylearn.settings.schema import DropShare, NotNegative, Positive, Seed


class CopySettings(RowLimitSettings, frozen=True):
    """What DS-GNN, DSS-GNN and SUN have in common."""

    layers: Positive = 5
    channels: Positive = 300
    form: GINForm = "ogb"
    """The authors' layers for which data: 'zinc', 'ogb' (twice as wide inside) or 'tu' (no edge features)."""
    bag: BagKind = "ego+"
    """Which edges a copy has: those near its root, which is marked ('ego+') or not ('ego'), all but its root's
    ('deleted'), or all, with the root marked ('marked')."""
    hops: NotNegative = 2
    """How far ego nets reach; 3 on ZINC."""


class DSGNNSettings(CopySettings, frozen=True):
    """DS-GNN with a copy per node.

    On 'zinc' copies are the sum of their nodes and have the set network of ZINC, on 'ogb' the mean, without a relu at
    the end, and on 'tu' the sum.
    """

    jumping: Literal["concat", "last"] = "last"
    """What a copy is read from: its input and all layers, or the last layer."""
    set_channels: tuple[Positive, ...] = (32, 32)
    """Widths of the set network."""
    dropout: DropShare = 0.5
    """After every layer."""


class RandomDSGNNSettings(DSGNNSettings, frozen=True):
    """DS-GNN with few copies, drawn uniformly."""

    picks: NotNegative = 2
    """T, copies drawn per graph."""
    seed: Seed = 0
    """Of the draws in evaluation."""


class RandomDSSGNNSettings(CopySettings, frozen=True):
    """DSS-GNN with few copies, drawn uniformly."""

    picks: NotNegative = 2
    """T, copies drawn per graph."""
    seed: Seed = 0
    """Of the draws in evaluation."""


class MarkedInput(nn.Module):
    """``[marks, features]`` of every row, ``(R, width)``; marks are not embedded.

    Category ids are embedded in C channels (the sum of one embedding per column). Nodes with numbers alone keep them as
    they are, and nodes with nothing have a constant 1.
    """

    def __init__(self, features: Features, channels: int, marks: int) -> None:
        super().__init__()
        self.features = features
        self.node_encoder = NodeEncoder(features, channels) if features.categorical else None
        self.width = marks + (channels if features.categorical else node_width(features))

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        dtype, encoder = bag.marks.dtype, self.node_encoder
        nodes = node_numbers(graphs, self.features, dtype) if encoder is None else encoder(graphs).to(dtype)
        return torch.cat([bag.marks, bag.spread(nodes)], dim=1)


class CopyNetwork(PlainModel):
    """What DS-GNN, DSS-GNN and SUN share: whose copies, how they are made, and their input."""

    def __init__(self, settings: CopySettings, inputs: Inputs, policy: Policy) -> None:
        super().__init__()
        self.policy, self.rule = policy, whole_copies(settings.bag, settings.hops)
        self.input = MarkedInput(inputs.node_features, settings.channels, marks=2 if self.rule.mark else 0)
        self.max_rows = settings.max_rows

    def check(self, graphs: Graphs, selection: Selection) -> None:
        """Raise a `RowLimitError` where the copies have more rows than are allowed."""
        check_rows(self.rule.num_rows(graphs, selection), self.max_rows, self.input.width)

    def copies(self, graphs: Graphs, selection: Selection) -> Bag:
        """The copies of the picks."""
        return self.rule(graphs, selection, dtype=dtype_of(self), unmarked=False)


class CopyModel(CopyNetwork):
    """A model over copies of picked nodes: a policy picks, `predict` looks."""

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        graphs = Graphs.of(batch)
        return self.predict(graphs, self.select(graphs, generator=generator))

    def select(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Selection:
        """The picks for a batch."""
        graphs = Graphs.of(batch)
        return self.policy(graphs, generator=generator).validate(graphs.ptr)

    def predict(self, batch: AnyBatch, selection: Selection) -> Tensor:
        """The output for picks that are handed in, ``(G, outputs)``."""
        raise NotImplementedError


class DSGNN(CopyModel):
    r"""A set network over copies that do not see each other.

    .. math::
        h^{(l)} = \mathrm{relu}(\mathrm{norm}(\mathrm{GIN}(h^{(l-1)}))), \quad
        v_s = \mathrm{pool}_u\, [h^{(0)}_{su}, \dots, h^{(L)}_{su}], \quad y = \mathrm{head}(\mathrm{set}(\{v_s\}))
    """

    def __init__(self, settings: DSGNNSettings, inputs: Inputs, policy: Policy) -> None:
        super().__init__(settings, inputs, policy)
        channels, form = settings.channels, settings.form
        widths = [self.input.width] + [channels] * settings.layers
        self.layers = nn.ModuleList(NormedGIN(form, width, channels, inputs.edge_features) for width in widths[:-1])
        self.dropout = nn.Dropout(settings.dropout)
        self.last_relu, self.mean_of_nodes, self.concat = form != "ogb", form == "ogb", settings.jumping == "concat"
        vector = sum(widths) if self.concat else widths[-1]
        self.set = SetNetwork(vector, settings.set_channels, at_end=form == "zinc")
        self.head = MLP(settings.set_channels[-1], 2 * settings.set_channels[-1], inputs.outputs)

    def predict(self, batch: AnyBatch, selection: Selection) -> Tensor:
        """See `CopyModel`; without gradients copies go through in pieces."""
        graphs = Graphs.of(batch)
        if self.training or torch.is_grad_enabled():
            self.check(graphs, selection)
            parts = [self.copy_vectors(graphs, selection)]
        else:
            cut = pieces(graphs, selection, self.max_rows, unmarked=False)
            parts = [self.copy_vectors(graphs, piece) for piece, _ in cut]
        vectors, graph = torch.cat([one for one, _ in parts]), torch.cat([of for _, of in parts])
        return self.head(self.set(vectors, graph, graphs.num_graphs))

    def copy_vectors(self, graphs: Graphs, selection: Selection) -> tuple[Tensor, Tensor]:
        """One vector per copy, and the graph that it is of, ``(S, C)`` and ``(S,)``."""
        bag = self.copies(graphs, selection)
        states = [self.input(graphs, bag)]  # (R, D)
        for depth, layer in enumerate(self.layers, start=1):
            h = layer(states[-1], bag, graphs.edge_attr)  # (R, C)
            h = torch.relu(h) if depth < len(self.layers) or self.last_relu else h
            states.append(self.dropout(h))
        rows = torch.cat(states, dim=1) if self.concat else states[-1]
        pool = group_mean if self.mean_of_nodes else segment_sum  # every copy has all nodes
        return pool(rows, bag.copy, len(bag.roots)), bag.graph_of_copy


class SetNetwork(nn.Module):
    """From the vectors of copies to one per graph, ``(S, C) -> (G, C')``.

    ``v = elu(own(v) + pooled(mean of v))`` for every width, then the mean. With ``at_end``, as on ZINC, ``elu(own(v))``
    for every width, the mean, then ``elu(pooled(v))`` for every width.
    """

    def __init__(self, inputs: int, channels: tuple[int, ...], *, at_end: bool) -> None:
        super().__init__()
        if at_end and len(set(channels)) > 1:
            raise ValueError(f"'set_channels' of form 'zinc' must be equal (got {channels}); use form 'ogb' or 'tu'")
        widths = list(pairwise((inputs, *channels)))
        self.own = nn.ModuleList(nn.Linear(a, b) for a, b in widths)
        self.pooled = nn.ModuleList(nn.Linear(b if at_end else a, b) for a, b in widths)
        self.at_end = at_end

    def forward(self, vectors: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        for own, pooled in zip(self.own, self.pooled, strict=True):
            new = own(vectors)
            if not self.at_end:
                new = new + pooled(group_mean(vectors, graph, num_graphs)).index_select(0, graph)
            vectors = nn.functional.elu(new)
        means = group_mean(vectors, graph, num_graphs)
        for pooled in self.pooled if self.at_end else ():
            means = nn.functional.elu(pooled(means))
        return means


class DSSLayer(nn.Module):
    r"""One layer: the copy's own message passing, and one that all copies share, ``(R, D) -> (R, C)``.

    .. math:: h'_{sv} = \mathrm{relu}(\mathrm{own}(h_s)_v + \mathrm{shared}(m)_v), \quad m_v = \mathrm{mean}_s\, h_{sv}
    """

    def __init__(self, form: GINForm, inputs: int, channels: int, edges: Features) -> None:
        super().__init__()
        self.own, self.shared = (NormedGIN(form, inputs, channels, edges) for _ in range(2))
        self.pool = CopyPool("mean")

    def forward(self, h: Tensor, bag: Bag, original: Bag, edge_attr: Tensor | None) -> Tensor:
        shared = self.shared(self.pool(h, bag), original, edge_attr)  # (N, C)
        return torch.relu(self.own(h, bag, edge_attr) + bag.spread(shared))


class DSSGNN(CopyModel):
    """DSS-GNN."""

    def __init__(self, settings: CopySettings, inputs: Inputs, policy: Policy) -> None:
        super().__init__(settings, inputs, policy)
        channels = settings.channels
        widths = [self.input.width] + [channels] * (settings.layers - 1)
        self.layers = nn.ModuleList(DSSLayer(settings.form, width, channels, inputs.edge_features) for width in widths)
        self.readout = CopiesThenNodes("mean", "mean")
        self.head = MLP(channels, 2 * channels, inputs.outputs)

    def predict(self, batch: AnyBatch, selection: Selection) -> Tensor:
        graphs = Graphs.of(batch)
        self.check(graphs, selection)
        bag = self.copies(graphs, selection)
        original = mark_nodes(graphs, Selection.nothing(graphs.ptr))  # the graph itself, as a bag of one copy
        h = self.input(graphs, bag)  # (R, D)
        for layer in self.layers:
            h = layer(h, bag, original, graphs.edge_attr)
        # Every copy has all nodes, so that means over nodes and copies may be taken in either order.
        return self.head(self.readout(h, bag, graphs))


PIECES = "training holds n rows per node; inference takes them in pieces"
WHOLE = "holds n rows per node, at inference too; see 'max_rows'"
ESAN = "(Bevilacqua et al., 2022)"


def declare(
    name: str, network: type[DSGNN] | type[DSSGNN], full: type[CopySettings], drawn: type[CopySettings], note: str
) -> None:
    """Register a network on a copy per node, and on T drawn copies."""

    def build(settings: Any, inputs: Inputs) -> DSGNN | DSSGNN:
        picks = getattr(settings, "picks", None)
        return network(settings, inputs, FullPolicy() if picks is None else RandomPolicy(picks, seed=settings.seed))

    register(System(name.lower(), f"{name} on a copy per node {ESAN}", full, build, note=note))
    title = f"{name} on T drawn copies {ESAN}"
    register(System(f"random-{name.lower()}", title, drawn, build))


declare("DS-GNN", DSGNN, DSGNNSettings, RandomDSGNNSettings, PIECES)
declare("DSS-GNN", DSSGNN, CopySettings, RandomDSSGNNSettings, WHOLE)
