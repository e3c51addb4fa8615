"""MAG-GNN's agent: it moves tuples of nodes, one place at a time, and learns by Q-learning which moves pay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Bag, Graphs
from policylearn.models.registry import LayerSettings
from policylearn.nn.encoders import dtype_of
from policylearn.nn.features import Features, build_edge_encoder
from policylearn.nn.norms import RowBatchNorm, sequence
from policylearn.nn.segments import segment_argmax, segment_max, segment_sum
from policylearn.nn.sums import gin_sum, gine_sum
from policylearn.policies.random import hashed_uniform, structure_hash
from policylearn.settings.schema import NotNegative, Positive, Seed, Share

TIES = 1e-6
SLOT_STRIDE = 7919
"""Keeps the draws of the places of all tuples apart."""


Regime = Literal["simul", "ord", "pre"]
Reward = Literal["error", "probability"]


class MAGGNNSettings(LayerSettings, frozen=True):
    """The run on ZINC."""

    channels: Positive = 100
    """Width C of both networks."""
    tuples: Positive = 1
    """m, tuples per graph."""
    size: Positive = 2
    """k, nodes of a tuple."""
    moves: NotNegative = 2
    """How often each tuple moves."""
    regime: Regime = "simul"
    """A step of each in turn, the predictor first and then the agent ('ord'), or the predictor alone ('pre')."""
    predictor_steps: NotNegative = 0
    """Steps of the predictor before those of the agent, in 'ord'."""
    reward: Reward = "error"
    """What a move brings: the fall of the loss, or the rise of the true class's probability."""
    discount: Share = 0.9
    """Of what comes after a move."""
    random_until: NotNegative = 50_000
    """Steps of the agent until which all of its moves are random."""
    explore_until: NotNegative = 100_000
    """Steps of the agent from which the fewest are."""
    least_epsilon: Share = 0.02
    """Share of random moves then."""
    target_every: Positive = 5000
    """Steps of the agent between two copies of its network."""
    replay: NotNegative = 300
    """Moves kept per graph (3,000,000 on ZINC's 10,000); 0 keeps none. A run that is resumed starts without any."""
    seed: Seed = 0
    """Of the first tuples in evaluation."""


def tuple_bag(graphs: Graphs, tuples: Tensor, dtype: torch.dtype) -> Bag:
    """One copy of the graph per tuple; there is no unmarked one. Column p of the marks is -1 at node p, else 1.

    Shapes:
        tuples ``(m, k, G)``, node ids counted through the batch, which may repeat; marks ``(N * m, k)``.
    """
    of_node = tuples.index_select(2, graphs.batch)  # (m, k, N)
    nodes = torch.arange(graphs.num_nodes, device=graphs.batch.device)
    marks = 1 - 2 * (of_node == nodes).permute(2, 0, 1).flatten(0, 1).to(dtype)
    return Bag.uniform(graphs, marks, tuples[:, 0])


def normed_linear(inputs: int, channels: int, **last: nn.Module) -> nn.Sequential:
    """Linear map, batch norm and what comes last, ``(R, inputs) -> (R, C)``."""
    return sequence(lin=nn.Linear(inputs, channels), norm=RowBatchNorm(channels), **last)


class TupleLayer(nn.Module):
    r"""A GIN layer with an inner width of twice its input, and a norm behind it, ``(R, inputs) -> (R, C)``.

    .. math::
        x'_v = \mathrm{norm2}(\mathrm{lin2}(\mathrm{relu}(\mathrm{norm1}(\mathrm{lin1}((1 + \epsilon) x_v +
        \textstyle\sum_u \mathrm{relu}(x_u + e_{uv}))))))

    Without edge features the sum is over :math:`x_u` itself. A relu follows, except behind the last layer.
    """

    eps: Tensor

    def __init__(self, inputs: int, channels: int, edge_features: Features, *, learn_eps: bool, last: bool) -> None:
        super().__init__()
        if learn_eps:
            self.eps = nn.Parameter(torch.zeros(1))
        else:
            self.register_buffer("eps", torch.zeros(1))
        self.edges = build_edge_encoder(edge_features, inputs)
        self.lin1, self.norm1 = nn.Linear(inputs, 2 * inputs), RowBatchNorm(2 * inputs)
        self.lin2, self.norm2 = nn.Linear(2 * inputs, channels), RowBatchNorm(channels)
        self.last = last

    def forward(self, states: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        if self.edges is None:
            summed = gin_sum(states, bag, 1 + self.eps)
        else:
            term = self.edges(edge_attr)
            summed = gine_sum(states, bag, 1 + self.eps, term.values, term.index)
        out = self.norm2(self.lin2(torch.relu(self.norm1(self.lin1(summed)))))
        return out if self.last else torch.relu(out)


def tuple_layers(inputs: int, channels: int, layers: int, edges: Features, *, learn_eps: bool) -> nn.ModuleList:
    """A stack of layers; epsilon is learned in the first one at most."""
    widths = [inputs] + [channels] * (layers - 1)
    return nn.ModuleList(
        TupleLayer(width, channels, edges, learn_eps=learn_eps and depth == 1, last=depth == layers)
        for depth, width in enumerate(widths, start=1)
    )


@dataclass(frozen=True)
class Moves:
    """One move of every tuple: which place goes to which node, ``(m, G)`` each; node ids count through the batch."""

    node: Tensor
    place: Tensor

    def apply(self, tuples: Tensor) -> Tensor:
        """The tuples after the moves, ``(m, k, G)``."""
        return tuples.scatter(1, self.place.unsqueeze(1), self.node.unsqueeze(1))


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Without gradients and with fixed norm statistics, which stay as they are; then back to the mode it was in."""
    was = module.training
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        module.train(was)


class QNetwork(nn.Module):
    r"""The worth of putting place p of a tuple on node v, from marks and edges alone, ``(m, k, G) -> (N, m, k)``.

    .. math::
        Q_t(v, \cdot) = \mathrm{mlp}\big(\big[h_{t,v} / |h_{t,v}|,\ \textstyle\sum_u h_{t,u},\
        \mathrm{mean}_{t'} \sum_u h_{t',u}\big]\big)
    """

    def __init__(self, size: int, channels: int, layers: int) -> None:
        super().__init__()
        self.marks = normed_linear(size, channels)
        self.layers = tuple_layers(channels, channels, layers, Features(), learn_eps=False)
        self.out = normed_linear(channels, channels, relu=nn.ReLU())
        self.mlp = nn.Sequential(
            nn.Linear(3 * channels, 4 * channels),
            nn.ReLU(),
            nn.Linear(4 * channels, 2 * channels),
            nn.ReLU(),
            nn.Linear(2 * channels, size),
        )

    def forward(self, graphs: Graphs, tuples: Tensor) -> Tensor:
        bag = tuple_bag(graphs, tuples, dtype_of(self))
        states = self.marks(bag.marks)
        for layer in self.layers:
            states = layer(states, bag, None)
        states = self.out(states).view(graphs.num_nodes, len(tuples), -1)  # (N, m, C)
        sums = segment_sum(states, graphs.batch, graphs.num_graphs)  # (G, m, C)
        everyone = sums.mean(1, keepdim=True).expand_as(sums)
        context = torch.cat([sums, everyone], dim=2).index_select(0, graphs.batch)
        return self.mlp(torch.cat([functional.normalize(states, dim=2), context], dim=2))


class TupleAgent(nn.Module):
    """Moves m tuples of k nodes (their size) per graph, each by its best move, or by a random one while it explores."""

    def __init__(self, settings: MAGGNNSettings) -> None:
        super().__init__()
        self.tuples, self.size, self.moves = settings.tuples, settings.size, settings.moves
        self.discount, self.seed = settings.discount, settings.seed
        self.network = QNetwork(settings.size, settings.channels, settings.layers)
        self.target = deepcopy(self.network).requires_grad_(False)

    def first_tuples(self, graphs: Graphs, generator: torch.Generator | None = None) -> Tensor:
        """Nodes drawn uniformly, repeats allowed, ``(m, k, G)``.

        In evaluation without a generator the draw is a function of the seed and of the graph's own edges, so that a
        graph has the same tuples alone and in any batch.
        """
        count = self.tuples * self.size
        if not self.training and generator is None:
            seeds = structure_hash(graphs) + self.seed * 1_000_003
            keys = [hashed_uniform(seeds + slot * SLOT_STRIDE, graphs) for slot in range(count)]
            nodes = torch.stack([segment_argmax(one, graphs.batch, graphs.num_graphs) for one in keys])
        else:
            nodes = random_nodes(graphs, count, generator)
        return nodes.view(self.tuples, self.size, graphs.num_graphs)

    @torch.no_grad()
    def best_moves(self, graphs: Graphs, tuples: Tensor) -> Moves:
        """The move of highest worth of each tuple; between equals the lowest node."""
        with evaluating(self.network):
            values, places = self.network(graphs, tuples).max(2)  # (N, m)
        columns = values.unbind(1)
        nodes = torch.stack([segment_argmax(one, graphs.batch, graphs.num_graphs, TIES) for one in columns])
        return Moves(nodes, places.t().gather(1, nodes))

    def explore(self, graphs: Graphs, best: Moves, epsilon: float, generator: torch.Generator | None) -> Moves:
        """A random move instead of the best one, with probability epsilon for each tuple."""
        shape, own = best.node.shape, graphs.batch.device
        device = own if generator is None else generator.device
        drawn = torch.rand(shape, generator=generator, device=device).to(own) < epsilon
        places = torch.randint(self.size, shape, generator=generator, device=device).to(own)
        nodes = random_nodes(graphs, self.tuples, generator)
        return Moves(torch.where(drawn, nodes, best.node), torch.where(drawn, places, best.place))

    def choose(
        self, graphs: Graphs, *, epsilon: float = 0.0, generator: torch.Generator | None = None
    ) -> tuple[Tensor, list[tuple[Tensor, Moves]]]:
        """Where the tuples end, ``(m, k, G)``, and each state on the way with the moves that left it."""
        tuples, way = self.first_tuples(graphs, generator), []
        for _ in range(self.moves):
            moves = self.best_moves(graphs, tuples)
            if epsilon > 0:
                moves = self.explore(graphs, moves, epsilon, generator)
            way.append((tuples, moves))
            tuples = moves.apply(tuples)
        return tuples, way

    def loss(self, graphs: Graphs, tuples: Tensor, moves: Moves, reward: Tensor) -> Tensor:
        r"""The squared error of :math:`Q(s, a)` to :math:`r + \gamma \max_{a'} Q_{target}(s', a')`.

        Shapes:
            tuples, the states, ``(m, k, G)``; reward, what the moves brought each graph, ``(G,)``.
        """
        with evaluating(self.target):
            following = self.target(graphs, moves.apply(tuples)).amax(2)  # (N, m)
            best = segment_max(following, graphs.batch, graphs.num_graphs)  # (G, m)
        worth = self.network(graphs, tuples)
        order = torch.arange(self.tuples, device=worth.device).unsqueeze(1).expand_as(moves.node)
        taken = worth[moves.node, order, moves.place].t()  # (m, G) -> (G, m)
        return functional.mse_loss(taken, reward.to(taken.dtype).unsqueeze(1) + self.discount * best)

    def refresh_target(self) -> None:
        """Copy the network to the one that values what comes after."""
        self.target.load_state_dict(self.network.state_dict())


def random_nodes(graphs: Graphs, count: int, generator: torch.Generator | None) -> Tensor:
    """Nodes drawn uniformly from each graph, ``(count, G)``."""
    return graphs.ptr[:-1] + (uniform(graphs, count, generator) * graphs.sizes).long()


def uniform(graphs: Graphs, count: int, generator: torch.Generator | None) -> Tensor:
    """Numbers in [0, 1) for each graph, ``(count, G)``."""
    device = graphs.batch.device if generator is None else generator.device
    drawn = torch.rand(count, graphs.num_graphs, generator=generator, device=device, dtype=torch.float64)
    return drawn.to(graphs.batch.device)


class Replay:
    """The last moves of each graph (``capacity`` of them) and what they brought, by its position in the dataset."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.kept: dict[int, tuple[Tensor, Tensor]] = {}
        self.count: dict[int, int] = {}

    def __len__(self) -> int:
        return sum(min(count, self.capacity) for count in self.count.values())

    def push(self, positions: Tensor, graphs: Graphs, tuples: Tensor, moves: Moves, reward: Tensor) -> None:
        """Keep one move of every graph of a batch; ``positions`` are theirs in the dataset, ``(G,)``."""
        local = torch.cat([tuples, moves.node.unsqueeze(1)], dim=1) - graphs.ptr[:-1]
        rows = torch.cat([local, moves.place.unsqueeze(1)], dim=1).permute(2, 0, 1).to("cpu", torch.int32)
        rewards = reward.to("cpu", torch.float32)
        for graph, position in enumerate(positions.tolist()):
            if position not in self.kept:
                empty = torch.zeros(self.capacity, *rows.shape[1:], dtype=torch.int32)  # (moves, m, k + 2)
                self.kept[position], self.count[position] = (empty, torch.zeros(self.capacity)), 0
            place = self.count[position] % self.capacity
            self.kept[position][0][place], self.kept[position][1][place] = rows[graph], rewards[graph]
            self.count[position] += 1

    def sample(
        self, positions: Tensor, graphs: Graphs, generator: torch.Generator | None
    ) -> tuple[Tensor, Moves, Tensor]:
        """One kept move for each graph of a batch, drawn uniformly: states, moves and rewards."""
        device, found = "cpu" if generator is None else generator.device, []
        draws = torch.rand(len(positions), generator=generator, device=device).tolist()
        for position, draw in zip(positions.tolist(), draws, strict=True):
            rows, rewards = self.kept[position]
            place = int(draw * min(self.count[position], self.capacity))
            found.append((rows[place], rewards[place]))
        where = graphs.batch.device
        stacked = torch.stack([row for row, _ in found], dim=2).long().to(where)  # (m, k + 2, G)
        tuples, node = stacked[:, :-2] + graphs.ptr[:-1], stacked[:, -2] + graphs.ptr[:-1]
        return tuples, Moves(node, stacked[:, -1]), torch.stack([reward for _, reward in found]).to(where)
