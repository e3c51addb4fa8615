"""ESAN: DS-GNN, a GIN on each copy and a set network over them, and DSS-GNN, whose copies see each other's means.

Both are of Bevilacqua et al., ICLR 2022, on a copy per node or on T drawn ones; there is no unmarked copy.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from policylearn.bags import (
    MAX_ROWS,
    BagKind,
    Graphs,
    Selection,
    check_rows,
    mark_nodes,
    pieces,
    rows_of_copies,
    whole_copies,
)
from policylearn.models.protocol import AnyBatch, mean_loss
from policylearn.models.registry import Inputs, System, register
from policylearn.nn import (
    MLP,
    CopiesThenNodes,
    CopyPool,
    GINForm,
    MarkedInput,
    NormedGIN,
    dtype_of,
    group_mean,
    segment_sum,
)
from policylearn.policies import FullPolicy, Policy, RandomPolicy
from policylearn.settings.schema import DropShare, NotNegative, Positive, Seed, Settings


class CopySettings(Settings, frozen=True):
    """What DS-GNN, DSS-GNN and SUN have in common."""

    form: GINForm = "ogb"
    """The authors' layers for which data: 'zinc', 'ogb' (twice as wide inside) or 'tu' (no edge features)."""
    bag: BagKind = "ego+"
    """Which edges a copy has: those near its root, which is marked ('ego+') or not ('ego'), all but its root's
    ('deleted'), or all, with the root marked ('marked')."""
    hops: NotNegative = 2
    """How far ego nets reach; 3 on ZINC."""
    layers: Positive = 5
    """Number of layers."""
    channels: Positive = 300
    """C, width of every layer."""
    max_rows: Positive = MAX_ROWS
    """Rows (node and copy) held at once; more are refused, or by DS-GNN at inference taken in pieces."""


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


class CopyNetwork(nn.Module):
    """What models over copies share: whose copies, how they are made, and their input."""

    depends_on_batch = False
    objective = mean_loss

    def __init__(self, settings: CopySettings, inputs: Inputs, policy: Policy) -> None:
        super().__init__()
        self.policy, self.rule = policy, whole_copies(settings.bag, settings.hops)
        self.input = MarkedInput(inputs.node_features, settings.channels, marks=2 if self.rule.mark else 0)
        self.max_rows = settings.max_rows


class CopyModel(CopyNetwork):
    """A model over copies of picked nodes: a policy picks, `predict` looks."""

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """See `GraphModel`, ``(G, outputs)``."""
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
        set_network = PooledAtTheEnd if form == "zinc" else PooledInEveryLayer
        self.set = set_network(vector, settings.set_channels)
        self.head = MLP(settings.set_channels[-1], 2 * settings.set_channels[-1], inputs.outputs)

    def predict(self, batch: AnyBatch, selection: Selection) -> Tensor:
        """See `CopyModel`; without gradients copies go through in pieces."""
        graphs = Graphs.of(batch)
        if self.training or torch.is_grad_enabled():
            check_rows(rows_of_copies(graphs, selection), self.max_rows, self.input.width)
            parts = [self.copy_vectors(graphs, selection)]
        else:
            cut = pieces(graphs, selection, self.max_rows, unmarked=False)
            parts = [self.copy_vectors(graphs, piece) for piece, _ in cut]
        vectors, graph = torch.cat([one for one, _ in parts]), torch.cat([of for _, of in parts])
        output: Tensor = self.head(self.set(vectors, graph, graphs.num_graphs))
        return output

    def copy_vectors(self, graphs: Graphs, selection: Selection) -> tuple[Tensor, Tensor]:
        """One vector per copy, and the graph that it is of, ``(S, C)`` and ``(S,)``."""
        bag = self.rule(graphs, selection, dtype=dtype_of(self), unmarked=False)
        states = [self.input(graphs, bag)]  # (R, D)
        for depth, layer in enumerate(self.layers, start=1):
            h = layer(states[-1], bag, graphs.edge_attr)  # (R, C)
            h = torch.relu(h) if depth < len(self.layers) or self.last_relu else h
            states.append(self.dropout(h))
        rows = torch.cat(states, dim=1) if self.concat else states[-1]
        vectors = segment_sum(rows, bag.copy, len(bag.roots))  # (R, C) -> (S, C)
        if self.mean_of_nodes:
            vectors = vectors / graphs.sizes.index_select(0, bag.graph_of_copy).unsqueeze(1).to(vectors.dtype)
        return vectors, bag.graph_of_copy


class PooledInEveryLayer(nn.Module):
    """``v = elu(own(v) + pooled(mean of v))`` for every width, then the mean; copies see each other."""

    def __init__(self, inputs: int, channels: tuple[int, ...]) -> None:
        super().__init__()
        widths = list(zip((inputs, *channels[:-1]), channels, strict=True))
        self.own = nn.ModuleList(nn.Linear(a, b) for a, b in widths)
        self.pooled = nn.ModuleList(nn.Linear(a, b) for a, b in widths)

    def forward(self, vectors: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        """Pool copies, ``(S, C) -> (G, C')``."""
        for own, pooled in zip(self.own, self.pooled, strict=True):
            mean = group_mean(vectors, graph, num_graphs)
            vectors = nn.functional.elu(own(vectors) + pooled(mean).index_select(0, graph))
        return group_mean(vectors, graph, num_graphs)


class PooledAtTheEnd(nn.Module):
    """``elu(own(v))`` for every width, the mean, then ``elu(pooled(v))`` for every width; widths must be equal."""

    def __init__(self, inputs: int, channels: tuple[int, ...]) -> None:
        super().__init__()
        if len(set(channels)) > 1:
            raise ValueError(f"'set_channels' of form 'zinc' must be equal (got {channels}); use form 'ogb' or 'tu'")
        self.own = nn.ModuleList(nn.Linear(a, b) for a, b in zip((inputs, *channels[:-1]), channels, strict=True))
        self.pooled = nn.ModuleList(nn.Linear(width, width) for width in channels)

    def forward(self, vectors: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
        """Pool copies, ``(S, C) -> (G, C')``."""
        for own in self.own:
            vectors = nn.functional.elu(own(vectors))
        pools = group_mean(vectors, graph, num_graphs)
        for pooled in self.pooled:
            pools = nn.functional.elu(pooled(pools))
        return pools


class DSSLayer(nn.Module):
    r"""One layer: the copy's own message passing, and one that all copies share.

    .. math:: h'_{sv} = \mathrm{relu}(\mathrm{own}(h_s)_v + \mathrm{shared}(m)_v), \quad m_v = \mathrm{mean}_s\, h_{sv}
    """

    def __init__(self, own: NormedGIN, shared: NormedGIN) -> None:
        super().__init__()
        self.own, self.shared, self.pool = own, shared, CopyPool("mean")


class DSSGNN(CopyModel):
    """DSS-GNN."""

    def __init__(self, settings: CopySettings, inputs: Inputs, policy: Policy) -> None:
        super().__init__(settings, inputs, policy)
        channels = settings.channels
        widths = [self.input.width] + [channels] * (settings.layers - 1)

        def stream(width: int) -> NormedGIN:
            return NormedGIN(settings.form, width, channels, inputs.edge_features)

        self.layers = nn.ModuleList(DSSLayer(stream(width), stream(width)) for width in widths)
        self.readout = CopiesThenNodes("mean", "mean")
        self.head = MLP(channels, 2 * channels, inputs.outputs)

    def predict(self, batch: AnyBatch, selection: Selection) -> Tensor:
        """See `CopyModel`."""
        graphs = Graphs.of(batch)
        check_rows(rows_of_copies(graphs, selection), self.max_rows, self.input.width)
        bag = self.rule(graphs, selection, dtype=dtype_of(self), unmarked=False)
        original = mark_nodes(graphs, Selection.nothing(graphs.ptr))  # the graph itself, as a bag of one copy
        h = self.input(graphs, bag)  # (R, D)
        for layer in self.layers:
            assert isinstance(layer, DSSLayer)
            mean = layer.pool.finish(layer.pool.part(h, bag))  # (R, C) -> (N, C)
            shared = layer.shared(mean, original, graphs.edge_attr)
            h = torch.relu(layer.own(h, bag, graphs.edge_attr) + bag.spread(shared))
        # Every copy has all nodes, so that means over nodes and copies may be taken in either order.
        output: Tensor = self.head(self.readout(h, bag, graphs))
        return output


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
    register(System(f"random-{name.lower()}", title, drawn, build, random_in_evaluation=True))


declare("DS-GNN", DSGNN, DSGNNSettings, RandomDSGNNSettings, PIECES)
declare("DSS-GNN", DSSGNN, CopySettings, RandomDSSGNNSettings, WHOLE)
