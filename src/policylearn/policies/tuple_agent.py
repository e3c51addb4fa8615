"""An agent that moves tuples of nodes, one place at a time, and learns by Q-learning which moves pay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Graphs
from policylearn.nn import Features, segment_argmax, segment_max, segment_sum
from policylearn.nn.tuple_layers import MarkEncoder, NormedLinear, tuple_bag, tuple_layers
from policylearn.policies.random import hashed_uniform, structure_hash

TIES = 1e-6
SLOT_STRIDE = 7919
"""Keeps the draws of the places of all tuples apart."""


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
    r"""What each move of each tuple is worth, from the marks and the edges alone.

    .. math::
        Q_t(v, \cdot) = \mathrm{mlp}\big(\big[h_{t,v} / |h_{t,v}|,\ \textstyle\sum_u h_{t,u},\
        \mathrm{mean}_{t'} \sum_u h_{t',u}\big]\big)

    Args:
        size: k, places of a tuple.
        channels: C.
        layers: number of layers.
    """

    def __init__(self, size: int, channels: int, layers: int) -> None:
        super().__init__()
        self.marks = MarkEncoder(size, channels)
        self.layers = tuple_layers(channels, channels, layers, Features(), learn_eps=False)
        self.out = NormedLinear(channels, channels)
        self.mlp = nn.Sequential(
            nn.Linear(3 * channels, 4 * channels),
            nn.ReLU(),
            nn.Linear(4 * channels, 2 * channels),
            nn.ReLU(),
            nn.Linear(2 * channels, size),
        )

    def forward(self, graphs: Graphs, tuples: Tensor) -> Tensor:
        """The worth of putting place p of a tuple on node v, ``(m, k, G) -> (N, m, k)``."""
        bag = tuple_bag(graphs, tuples, self.out.lin.weight.dtype)
        states = self.marks(bag.marks)
        for layer in self.layers:
            states = layer(states, bag, None)
        states = self.out(states).view(graphs.num_nodes, len(tuples), -1)  # (N, m, C)
        sums = segment_sum(states, graphs.batch, graphs.num_graphs)  # (G, m, C)
        everyone = sums.mean(1, keepdim=True).expand_as(sums)
        context = torch.cat([sums, everyone], dim=2).index_select(0, graphs.batch)
        worth: Tensor = self.mlp(torch.cat([functional.normalize(states, dim=2), context], dim=2))
        return worth


class TupleAgent(nn.Module):
    """Moves m tuples of k nodes per graph, each by its best move, or by a random one while it explores.

    Args:
        tuples: m.
        size: k.
        moves: how often each tuple moves.
        channels: of the Q-network.
        layers: of the Q-network.
        discount: of what comes after a move.
        seed: of the first tuples in evaluation.
    """

    def __init__(
        self, tuples: int, size: int, moves: int, *, channels: int, layers: int, discount: float, seed: int
    ) -> None:
        super().__init__()
        if tuples < 1 or size < 1 or moves < 0:
            raise ValueError(
                f"there must be a tuple with a place, and moves >= 0 (got {tuples} tuples of {size}, {moves} moves)"
            )
        self.tuples, self.size, self.moves, self.discount, self.seed = tuples, size, moves, discount, seed
        self.network = QNetwork(size, channels, layers)
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
        shape = best.node.shape
        device = graphs.batch.device if generator is None else generator.device
        drawn = torch.rand(shape, generator=generator, device=device).to(graphs.batch.device) < epsilon
        places = torch.randint(self.size, shape, generator=generator, device=device).to(graphs.batch.device)
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

        Args:
            graphs: the batch.
            tuples: the states, ``(m, k, G)``.
            moves: what was done there.
            reward: what that brought each graph, ``(G,)``.
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
    device = graphs.batch.device if generator is None else generator.device
    drawn = torch.rand(count, graphs.num_graphs, generator=generator, device=device, dtype=torch.float64)
    return graphs.ptr[:-1] + (drawn.to(graphs.batch.device) * graphs.sizes).long()


class Replay:
    """The last moves of each graph, with what they brought; kept by the graph's position in the dataset.

    Args:
        capacity: moves kept per graph.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.kept: dict[int, tuple[Tensor, Tensor]] = {}
        self.count: dict[int, int] = {}

    def __len__(self) -> int:
        return sum(min(count, self.capacity) for count in self.count.values())

    def push(self, positions: Tensor, graphs: Graphs, tuples: Tensor, moves: Moves, reward: Tensor) -> None:
        """Keep one move of every graph of a batch; ``positions`` are theirs in the dataset, ``(G,)``."""
        rows = torch.cat([tuples, moves.node.unsqueeze(1)], dim=1) - graphs.ptr[:-1]  # local ids
        rows = (
            torch.cat([rows, moves.place.unsqueeze(1)], dim=1).permute(2, 0, 1).to("cpu", torch.int32)
        )  # (G, m, k + 2)
        rewards = reward.to("cpu", torch.float32)
        for graph, position in enumerate(positions.tolist()):
            if position not in self.kept:
                empty = torch.zeros(self.capacity, *rows.shape[1:], dtype=torch.int32)
                self.kept[position], self.count[position] = (empty, torch.zeros(self.capacity)), 0
            place = self.count[position] % self.capacity
            self.kept[position][0][place], self.kept[position][1][place] = rows[graph], rewards[graph]
            self.count[position] += 1

    def sample(
        self, positions: Tensor, graphs: Graphs, generator: torch.Generator | None
    ) -> tuple[Tensor, Moves, Tensor]:
        """One kept move for each graph of a batch, drawn uniformly: states, moves and rewards."""
        device = "cpu" if generator is None else generator.device
        draws = torch.rand(len(positions), generator=generator, device=device).tolist()
        rows, rewards = [], []
        for position, draw in zip(positions.tolist(), draws, strict=True):
            place = int(draw * min(self.count[position], self.capacity))
            rows.append(self.kept[position][0][place])
            rewards.append(self.kept[position][1][place])
        where = graphs.batch.device
        stacked = torch.stack(rows, dim=2).long().to(where)  # (m, k + 2, G)
        tuples, node = stacked[:, :-2] + graphs.ptr[:-1], stacked[:, -2] + graphs.ptr[:-1]
        return tuples, Moves(node, stacked[:, -1]), torch.stack(rewards).to(where)
