"""OSAN: copies without the nodes that a network scores lowest, learned by I-MLE; and the same with drawn nodes."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs, Members
from policylearn.models.protocol import AnyBatch, LossTerms, Objective, PlainModel, plain_objective
from policylearn.models.registry import Inputs, LayerSettings, System, register
from policylearn.models.systems.osan_networks import (
    GINENetwork,
    MaskedCopies,
    OGBNetwork,
    Scorer,
    Set2SetNetwork,
    keep_best,
)
from policylearn.nn import node_numbers, node_width, segment_log_softmax, segment_mean, segment_sum
from policylearn.policies import Imle, node_uniform
from policylearn.settings.schema import AboveZero, Amount, DropShare, Positive, Seed

OSANForm = Literal["zinc", "ogb", "alchemy"]
VOTE_NOISE = 0.1
LEAST = 2.0**-54
"""Keeps the logarithm of uniform draws finite."""


class RandomOSANSettings(LayerSettings, frozen=True):
    """Copies that each keep nodes drawn uniformly, and the whole graph."""

    layers: Positive = 5
    channels: Positive = 300
    form: OSANForm = "ogb"
    """The authors' network for which data: 'zinc' (GINE), 'ogb' (OGB's GIN) or 'alchemy' (Set2Set)."""
    picks: Positive = 10
    """T, copies besides the whole graph."""
    keep: int = -1
    """Nodes that each copy keeps; a negative number is how many it loses. Never all."""
    remove_rows: bool = True
    """Whether masked nodes are left out, or only lose their edges."""
    dropout: DropShare = 0.5
    """After every layer of the prediction network."""
    votes: Positive = 5
    """Draws in evaluation; the output is their mean."""
    seed: Seed = 0
    """Of the draws in evaluation."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep == 0:
            raise ValueError("'keep' must not be 0; keep 5 keeps five nodes per copy, keep -1 all but one")


class OSANSettings(RandomOSANSettings, frozen=True):
    """Copies that each keep the nodes that a network scores highest, and the whole graph."""

    aux_weight: Amount = 1.0
    """Weight of the loss that wants all nodes kept equally often; it is summed over the graphs of a batch."""
    strength: AboveZero = 10.0
    """How far I-MLE moves scores against the gradient of the masks."""
    ordered: bool = False
    """Whether kept nodes know their place by score (the authors' ordered variant, with the network of form 'zinc')."""
    order_channels: Positive = 64
    """Channels of a node's place, with 'ordered'."""
    order_size: Positive = 38
    """Places that there are, with 'ordered': the size of the largest graph."""


class OSAN(nn.Module):
    r"""Predict from T copies with masked nodes and from the whole graph.

    Without noise in evaluation where there is one vote; with several, each adds to the scores of a copy a tenth of
    their standard deviation over the graph times normal noise. The authors put the predictions of all votes into one
    metric and average none: so does training with `votes`, while the output is their mean.
    """

    depends_on_batch = False

    def __init__(self, settings: OSANSettings, inputs: Inputs) -> None:
        super().__init__()
        self.settings, self.imle = settings, Imle(settings.strength)
        embed = settings.form == "ogb" and not settings.ordered
        self.scorer = Scorer(inputs, settings.channels, settings.picks, embed=embed)
        self.network = OrderedNetwork(settings, inputs) if settings.ordered else build_network(settings, inputs)

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        graphs = Graphs.of(batch)
        if not self.training:
            return self.votes(graphs, generator=generator).mean(0)
        scores = self.scorer(graphs)
        return self.predict(graphs, *self.draw(scores, gumbel_noise(scores, graphs, generator), graphs))

    def votes(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """The outputs of every vote in evaluation, ``(votes, G, outputs)``."""
        graphs = Graphs.of(batch)
        scores, votes = self.scorer(graphs), self.settings.votes
        if votes == 1:
            return self.predict(graphs, self.solve(scores, graphs), scores).unsqueeze(0)
        seed = self.settings.seed if generator is None else None
        uniform = node_uniform(graphs, votes * self.settings.picks, seed=seed, generator=generator)
        noises = torch.special.ndtri(uniform.clamp(min=LEAST)).to(scores.dtype).chunk(votes, dim=1)
        return torch.stack([self.vote(graphs, scores, noise) for noise in noises])

    def vote(self, graphs: Graphs, scores: Tensor, noise: Tensor) -> Tensor:
        """The outputs for scores with standard normal noise, ``(G, outputs)``; noise ``(N, T)``."""
        moved = scores + VOTE_NOISE * spread(scores, graphs) * noise
        return self.predict(graphs, self.solve(moved, graphs), moved)

    def draw(self, scores: Tensor, noise: Tensor, members: Members) -> tuple[Tensor, Tensor]:
        """A mask that carries gradient to the scores, and the scores with Gumbel noise, ``(N, T)`` each."""
        mask = self.imle.choose(scores, noise, lambda moved: self.solve(moved, members))
        return mask, (scores + noise).detach()

    def solve(self, scores: Tensor, members: Members) -> Tensor:
        """Which nodes each copy keeps, ``(N, T)``."""
        return keep_best(scores, members, self.settings.keep)

    def predict(self, batch: AnyBatch, mask: Tensor, scores: Tensor) -> Tensor:
        """The output for masks that are handed in, ``(G, outputs)``; scores give kept nodes their order, if any."""
        graphs = Graphs.of(batch)
        if isinstance(self.network, OrderedNetwork):
            return self.network(graphs, mask, scores)
        copies = MaskedCopies.of(graphs, mask, remove_rows=self.settings.remove_rows)
        return self.network(graphs, copies)

    def objective(
        self,
        batch: AnyBatch,
        y: Tensor,
        terms: LossTerms,
        *,
        generator: torch.Generator | None = None,
        noise: Tensor | None = None,
    ) -> Objective:
        """See `GraphModel`; the mean loss, and that of masks which keep some nodes more often than others."""
        graphs = Graphs.of(batch)
        scores = self.scorer(graphs)
        noise = gumbel_noise(scores, graphs, generator) if noise is None else noise
        mask, moved = self.draw(scores, noise, graphs)
        plain = plain_objective(self.predict(graphs, mask, moved), y, terms, graphs)
        aux = self.settings.aux_weight * uneven_masks(mask, graphs)
        return Objective(plain.loss + aux, plain.prediction_loss, plain.outputs, plain.costs)

    def selection_parameters(self) -> list[nn.Parameter]:
        """The scorer's weights."""
        return list(self.scorer.parameters())


class RandomOSAN(PlainModel):
    """OSAN without a scorer: kept nodes are drawn in each pass and vote, and removed ones are really taken out."""

    def __init__(self, settings: RandomOSANSettings, inputs: Inputs) -> None:
        super().__init__()
        self.settings, self.network = settings, build_network(settings, inputs)

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        graphs = Graphs.of(batch)
        if self.training:
            return self.predict(graphs, self.draw(graphs, 1, generator)[0])
        return self.votes(graphs, generator=generator).mean(0)

    def votes(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """The outputs of every draw in evaluation, ``(votes, G, outputs)``."""
        graphs = Graphs.of(batch)
        return torch.stack([self.predict(graphs, mask) for mask in self.draw(graphs, self.settings.votes, generator)])

    def draw(self, graphs: Graphs, times: int, generator: torch.Generator | None) -> tuple[Tensor, ...]:
        """So many masks, ``(N, T)`` each; in evaluation a function of seed and graph unless a generator is given."""
        seed = self.settings.seed if not self.training and generator is None else None
        keys = node_uniform(graphs, times * self.settings.picks, seed=seed, generator=generator)
        return keep_best(keys, graphs, self.settings.keep, tolerance=0.0).chunk(times, dim=1)

    def predict(self, batch: AnyBatch, mask: Tensor) -> Tensor:
        """The output for masks that are handed in, ``(G, outputs)``."""
        graphs = Graphs.of(batch)
        mask = mask.to(next(self.network.parameters()).dtype)
        remove = self.settings.remove_rows
        copies = MaskedCopies.without_rows(graphs, mask) if remove else MaskedCopies.of(graphs, mask, remove_rows=False)
        return self.network(graphs, copies)


class OrderedNetwork(nn.Module):
    """The prediction network of the ordered variant.

    Kept nodes stand in the order of their scores, and a node's place in a copy is its row of the copy's adjacency in
    that order. In the authors' code all copies share one feature matrix, into which later copies write over earlier
    ones, so that the states of all copies are the same and only their masks differ; states are computed once here.
    """

    def __init__(self, settings: OSANSettings, inputs: Inputs) -> None:
        super().__init__()
        channels, order = settings.channels, settings.order_channels
        self.node_features, self.order_size = inputs.node_features, settings.order_size
        self.node_encoder = nn.Linear(node_width(inputs.node_features), channels)
        self.order_encoder = nn.Linear(settings.order_size, order)
        self.gine = GINENetwork(inputs, channels, settings.layers, dropout=settings.dropout, first=channels + order)

    def forward(self, graphs: Graphs, mask: Tensor, scores: Tensor) -> Tensor:
        numbers = node_numbers(graphs, self.node_features, mask.dtype)
        places = self.places(graphs, mask.detach(), scores.detach())
        x = torch.relu(torch.cat([self.node_encoder(numbers), self.order_encoder(places)], dim=1))
        once = MaskedCopies.of(graphs, mask[:, :0], remove_rows=False)  # the whole graph alone
        states = self.gine.encode(x, graphs, once)  # (N, C)
        copies = 1 + mask.sum(1, keepdim=True)  # the whole graph's, and those that keep the node
        vectors = segment_mean(self.gine.mapped(states * copies), graphs.batch, graphs.ptr)
        return self.gine.out(vectors)

    def places(self, graphs: Graphs, mask: Tensor, scores: Tensor) -> Tensor:
        """Rows of adjacencies, of the last copy that keeps a node; zeros where none does, ``(N, order_size)``."""
        most = int(segment_sum(mask, graphs.batch, graphs.num_graphs).max())
        if most > self.order_size:
            raise ValueError(
                f"a copy keeps {most} nodes, but there are {self.order_size} places; raise 'order_size' to the size of"
                " the largest graph, or use 'ordered: false'"
            )
        source, target = graphs.edge_index
        rows = mask.new_zeros(graphs.num_nodes, self.order_size)
        for kept, score in zip(mask.t() > 0, scores.t(), strict=True):
            rising = torch.argsort(score.where(kept, torch.inf), stable=True)
            order = rising[torch.argsort(graphs.batch[rising], stable=True)]  # graph by graph, dropped nodes last
            rank = torch.empty_like(order)
            rank[order] = torch.arange(len(order), device=order.device) - graphs.ptr.index_select(0, graphs.batch)
            inside = kept[source] & kept[target]
            own = torch.zeros_like(rows)
            own[source[inside], rank[target[inside]]] = 1
            rows = torch.where(kept.unsqueeze(1), own, rows)
        return rows


def build_network(settings: RandomOSANSettings, inputs: Inputs) -> nn.Module:
    """The prediction network of that form."""
    networks = {"zinc": GINENetwork, "ogb": OGBNetwork, "alchemy": Set2SetNetwork}
    return networks[settings.form](inputs, settings.channels, settings.layers, dropout=settings.dropout)


def gumbel_noise(scores: Tensor, graphs: Graphs, generator: torch.Generator | None) -> Tensor:
    """Gumbel noise for every score, ``(N, T)``."""
    uniform = node_uniform(graphs, scores.shape[1], seed=None, generator=generator)
    return -torch.log(-torch.log(uniform.clamp(min=LEAST))).to(scores.dtype)


def uneven_masks(mask: Tensor, members: Members) -> Tensor:
    r"""How unevenly nodes are kept: :math:`\sum_g \frac{1}{n^2} \sum_v (\log \frac{1}{n} - q_v)`, ``(N, T) -> ()``.

    Here q is the log-softmax, over the nodes of a graph, of how many copies keep each.
    """
    shares = segment_log_softmax(mask.sum(1), members.batch, members.num_graphs)
    sizes = members.sizes.to(mask.dtype).index_select(0, members.batch)
    return ((-sizes.log() - shares) / sizes.square()).sum()


def spread(scores: Tensor, members: Members) -> Tensor:
    """Standard deviation of each column over the graph of each node, ``(N, T) -> (N, T)``; 0 for a single node."""
    centred = scores - segment_mean(scores, members.batch, members.ptr).index_select(0, members.batch)
    squares = segment_sum(centred.square(), members.batch, members.num_graphs)
    freedom = (members.sizes - 1).clamp(min=1).unsqueeze(1).to(scores.dtype)
    return (squares / freedom).sqrt().index_select(0, members.batch)


NOTE = "several votes are drawn in evaluation, by a seed of their own; votes: 1 draws nothing"
LEARNED, DRAWN = "OSAN, masks learned by I-MLE (Qian et al., 2022)", "OSAN with drawn masks (Qian et al., 2022)"
register(System("osan", LEARNED, OSANSettings, OSAN, note=NOTE))
register(System("random-osan", DRAWN, RandomOSANSettings, RandomOSAN))
