"""DS-GNN: one GIN on each copy alone, and a set network over the copies (Bevilacqua et al., ICLR 2022)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from policylearn.bags import (
    MAX_ROWS,
    BagKind,
    Graphs,
    Selection,
    WholeCopies,
    check_rows,
    pieces,
    rows_of_copies,
    whole_copies,
)
from policylearn.models.protocol import AnyBatch, mean_loss
from policylearn.models.registry import Inputs, System, register
from policylearn.nn import (
    MLP,
    GINForm,
    MarkedInput,
    NormedGIN,
    dtype_of,
    group_mean,
    segment_sum,
)
from policylearn.policies import FullPolicy, Policy, RandomPolicy
from policylearn.settings.schema import DropShare, NotNegative, Positive, Seed, Settings


class DSGNNSettings(Settings, frozen=True):
    """DS-GNN with a copy per node."""

    form: GINForm = "ogb"
    """The authors' network for which data: 'zinc' (sum over nodes, set network of ZINC), 'ogb' (twice as wide inside,
    no relu at the end, mean over nodes) or 'tu' (no edge features, sum over nodes)."""
    bag: BagKind = "ego+"
    """Which edges a copy has: those near its root, which is marked ('ego+') or not ('ego'), all but its root's
    ('deleted'), or all, with the root marked ('marked')."""
    hops: NotNegative = 2
    """How far ego nets reach; 3 on ZINC."""
    layers: Positive = 5
    """Number of layers."""
    channels: Positive = 300
    """C, width of every layer."""
    jumping: Literal["concat", "last"] = "last"
    """What a copy is read from: its input and all layers, or the last layer."""
    set_channels: tuple[Positive, ...] = (32, 32)
    """Widths of the set network."""
    dropout: DropShare = 0.5
    """After every layer."""
    max_rows: Positive = MAX_ROWS
    """Rows (node and copy) held at once; more are refused in training and taken in pieces at inference."""


class RandomDSGNNSettings(DSGNNSettings, frozen=True):
    """DS-GNN with few copies, drawn uniformly."""

    picks: NotNegative = 2
    """T, copies drawn per graph."""
    seed: Seed = 0
    """Of the draws in evaluation."""


class DSGNN(nn.Module):
    r"""A set network over copies that do not see each other.

    .. math::
        h^{(l)} = \mathrm{relu}(\mathrm{norm}(\mathrm{GIN}(h^{(l-1)}))), \quad
        v_s = \mathrm{pool}_u\, [h^{(0)}_{su}, \dots, h^{(L)}_{su}], \quad y = \mathrm{head}(\mathrm{set}(\{v_s\}))

    Args:
        settings: see `DSGNNSettings`.
        inputs: what the data gives.
        policy: whose picks have a copy; there is no unmarked copy.
    """

    depends_on_batch = False
    objective = mean_loss

    def __init__(self, settings: DSGNNSettings, inputs: Inputs, policy: Policy) -> None:
        super().__init__()
        channels, form = settings.channels, settings.form
        self.policy = policy
        self.rule: WholeCopies = whole_copies(settings.bag, settings.hops)
        self.input = MarkedInput(inputs.node_features, channels, marks=2 if self.rule.mark else 0)
        widths = [self.input.width] + [channels] * settings.layers
        self.layers = nn.ModuleList(NormedGIN(form, width, channels, inputs.edge_features) for width in widths[:-1])
        self.dropout = nn.Dropout(settings.dropout)
        self.last_relu, self.mean_of_nodes, self.concat = form != "ogb", form == "ogb", settings.jumping == "concat"
        vector = sum(widths) if self.concat else widths[-1]
        set_network = PooledAtTheEnd if form == "zinc" else PooledInEveryLayer
        self.set = set_network(vector, settings.set_channels)
        self.head = MLP(settings.set_channels[-1], 2 * settings.set_channels[-1], inputs.outputs)
        self.max_rows = settings.max_rows

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


register(
    System(
        name="ds-gnn",
        title="DS-GNN on a copy per node (Bevilacqua et al., 2022)",
        settings=DSGNNSettings,
        network=lambda settings, inputs: DSGNN(settings, inputs, FullPolicy()),
        note="training holds n rows per node; inference takes them in pieces",
    )
)
register(
    System(
        name="random-ds-gnn",
        title="DS-GNN on T drawn copies (Bevilacqua et al., 2022)",
        settings=RandomDSGNNSettings,
        network=lambda settings, inputs: DSGNN(settings, inputs, RandomPolicy(settings.picks, seed=settings.seed)),
        random_in_evaluation=True,
    )
)
