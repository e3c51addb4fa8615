"""DSS-GNN: copies that also see each node's mean over the bag (Bevilacqua et al., ICLR 2022)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.bags import MAX_ROWS, BagKind, Graphs, Selection, check_rows, mark_nodes, rows_of_copies, whole_copies
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
)
from policylearn.policies import FullPolicy, Policy, RandomPolicy
from policylearn.settings.schema import NotNegative, Positive, Seed, Settings


class DSSGNNSettings(Settings, frozen=True):
    """DSS-GNN with a copy per node."""

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
    """Rows (node and copy) held at once; more are refused."""


class RandomDSSGNNSettings(DSSGNNSettings, frozen=True):
    """DSS-GNN with few copies, drawn uniformly."""

    picks: NotNegative = 2
    """T, copies drawn per graph."""
    seed: Seed = 0
    """Of the draws in evaluation."""


class DSSLayer(nn.Module):
    r"""One layer: the copy's own message passing, and one that all copies share.

    .. math:: h'_{sv} = \mathrm{relu}(\mathrm{own}(h_s)_v + \mathrm{shared}(m)_v), \quad m_v = \mathrm{mean}_s\, h_{sv}
    """

    def __init__(self, own: NormedGIN, shared: NormedGIN) -> None:
        super().__init__()
        self.own, self.shared, self.pool = own, shared, CopyPool("mean")


class DSSGNN(nn.Module):
    """DSS-GNN.

    Args:
        settings: see `DSSGNNSettings`.
        inputs: what the data gives.
        policy: whose picks have a copy; there is no unmarked copy.
    """

    depends_on_batch = False
    objective = mean_loss

    def __init__(self, settings: DSSGNNSettings, inputs: Inputs, policy: Policy) -> None:
        super().__init__()
        channels = settings.channels
        self.policy, self.rule = policy, whole_copies(settings.bag, settings.hops)
        self.input = MarkedInput(inputs.node_features, channels, marks=2 if self.rule.mark else 0)
        widths = [self.input.width] + [channels] * (settings.layers - 1)

        def stream(width: int) -> NormedGIN:
            return NormedGIN(settings.form, width, channels, inputs.edge_features)

        self.layers = nn.ModuleList(DSSLayer(stream(width), stream(width)) for width in widths)
        self.readout = CopiesThenNodes("mean", "mean")
        self.head = MLP(channels, 2 * channels, inputs.outputs)
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


register(
    System(
        name="dss-gnn",
        title="DSS-GNN on a copy per node (Bevilacqua et al., 2022)",
        settings=DSSGNNSettings,
        network=lambda settings, inputs: DSSGNN(settings, inputs, FullPolicy()),
        note="holds n rows per node, at inference too; see 'max_rows'",
    )
)
register(
    System(
        name="random-dss-gnn",
        title="DSS-GNN on T drawn copies (Bevilacqua et al., 2022)",
        settings=RandomDSSGNNSettings,
        network=lambda settings, inputs: DSSGNN(settings, inputs, RandomPolicy(settings.picks, seed=settings.seed)),
        random_in_evaluation=True,
    )
)
