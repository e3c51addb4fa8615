"""MAG-GNN: an agent moves tuples of nodes to where marking them helps the prediction most."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs
from policylearn.models.protocol import AnyBatch, LossTerms, Objective, plain_objective
from policylearn.models.registry import Inputs, System, register
from policylearn.models.systems.mag_gnn_agent import (
    MAGGNNSettings,
    Replay,
    TupleAgent,
    evaluating,
    normed_linear,
    tuple_bag,
    tuple_layers,
)
from policylearn.nn import NodeEncoder, segment_mean


class TuplePredictor(nn.Module):
    """From marked tuples to outputs, ``(m, k, G) -> (G, outputs)``: GINE over each, mean over tuples, then nodes."""

    def __init__(self, settings: MAGGNNSettings, inputs: Inputs) -> None:
        super().__init__()
        channels = settings.channels
        self.marks, self.nodes = normed_linear(settings.size, channels), NodeEncoder(inputs.node_features, channels)
        # The states of all layers are summed; each layer has an embedding of the edges.
        self.layers = tuple_layers(2 * channels, channels, settings.layers, inputs.edge_features, learn_eps=True)
        self.out = normed_linear(channels, channels, relu=nn.ReLU())
        self.hidden1 = normed_linear(channels, 2 * channels, relu=nn.ReLU())
        self.hidden2 = normed_linear(2 * channels, 2 * channels, relu=nn.ReLU())
        self.head = nn.Linear(2 * channels, inputs.outputs)

    def forward(self, graphs: Graphs, tuples: Tensor) -> Tensor:
        bag = tuple_bag(graphs, tuples, self.head.weight.dtype)
        states = torch.cat([self.marks(bag.marks), bag.spread(self.nodes(graphs))], dim=1)  # (R, 2C)
        seen = []
        for layer in self.layers:
            states = layer(states, bag, graphs.edge_attr)
            seen.append(states)
        summed = torch.stack(seen).sum(0).view(graphs.num_nodes, len(tuples), -1)
        vectors = segment_mean(self.out(summed.mean(1)), graphs.batch, graphs.ptr)  # (N, m, C) -> (N, C) -> (G, C)
        return self.head(self.hidden2(self.hidden1(vectors)))


class MAGGNN(nn.Module):
    """A prediction network and an agent that chooses its tuples; each learns in steps of its own.

    Steps of the predictor minimise the loss on the tuples that it is given. In steps of the agent the tuples are moved,
    with some moves at random, and each move is worth what it takes off the graph's loss.
    """

    depends_on_batch = False
    steps: Tensor

    def __init__(self, settings: MAGGNNSettings, inputs: Inputs) -> None:
        super().__init__()
        self.settings = settings
        self.agent = TupleAgent(settings)
        self.predictor = TuplePredictor(settings, inputs)
        self.replay = Replay(settings.replay) if settings.replay else None
        self.register_buffer("steps", torch.zeros(2, dtype=torch.long))  # of the predictor, of the agent

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        graphs = Graphs.of(batch)
        return self.predict(graphs, self.agent.choose(graphs, generator=generator)[0])

    def predict(self, batch: AnyBatch, tuples: Tensor) -> Tensor:
        """Predict from tuples that are handed in, ``(m, k, G) -> (G, outputs)``."""
        return self.predictor(Graphs.of(batch), tuples)

    def objective(
        self, batch: AnyBatch, y: Tensor, terms: LossTerms, *, generator: torch.Generator | None = None
    ) -> Objective:
        """See `GraphModel`; a step of the predictor or of the agent."""
        graphs = Graphs.of(batch)
        if self.agent_is_next:
            return self._agent_step(graphs, y, terms, generator)
        if self.training:
            self.steps[0] += 1
        tuples = self._tuples_of_predictor(graphs, generator)
        return plain_objective(self.predict(graphs, tuples), y, terms, graphs)

    @property
    def agent_is_next(self) -> bool:
        """Whose turn it is."""
        predictor, agent = self.steps.tolist()
        if self.settings.regime == "simul":
            return bool(agent < predictor)
        return self.settings.regime == "ord" and predictor >= self.settings.predictor_steps

    @property
    def epsilon(self) -> float:
        """Share of random moves in the agent's next step: 1 at first, then falling on a line."""
        start, end = self.settings.random_until, self.settings.explore_until
        share = (int(self.steps[1]) - start) / max(end - start, 1)
        return 1 - (1 - self.settings.least_epsilon) * min(max(share, 0.0), 1.0)

    def selection_parameters(self) -> list[nn.Parameter]:
        """The weights of the agent that learn."""
        return list(self.agent.network.parameters())

    def _tuples_of_predictor(self, graphs: Graphs, generator: torch.Generator | None) -> Tensor:
        if self.settings.regime == "ord":
            return self.agent.first_tuples(graphs, generator)
        epsilon = self.epsilon if self.settings.regime == "simul" else 0.0
        return self.agent.choose(graphs, epsilon=epsilon, generator=generator)[0]

    def _agent_step(self, graphs: Graphs, y: Tensor, terms: LossTerms, generator: torch.Generator | None) -> Objective:
        """Move with some chance, value each move by what it brought, and learn from it and from a move before."""
        last, way = self.agent.choose(graphs, epsilon=self.epsilon, generator=generator)
        with evaluating(self.predictor):
            outputs = [self.predict(graphs, tuples) for tuples in (*(state for state, _ in way), last)]
        steps = [plain_objective(one, y, terms, graphs) for one in outputs]
        costs = [step.costs for step in steps]
        losses = []
        for (tuples, moves), before, after in zip(way, costs[:-1], costs[1:], strict=True):
            reward = before - after if self.settings.reward == "error" else (-after).exp() - (-before).exp()
            losses.append(self.agent.loss(graphs, tuples, moves, reward))
            positions = graphs.extras.get("index")
            if self.replay is not None and positions is not None:
                positions = positions.flatten()
                self.replay.push(positions, graphs, tuples, moves, reward)
                losses.append(self.agent.loss(graphs, *self.replay.sample(positions, graphs, generator)))
        if self.training:
            self.steps[1] += 1
            if int(self.steps[1]) % self.settings.target_every == 0:
                self.agent.refresh_target()
        # Without moves there is nothing to learn; the sum keeps the loss attached to the weights all the same.
        loss = torch.stack(losses).mean() if losses else sum(w.sum() for w in self.selection_parameters()) * 0.0
        return Objective(torch.as_tensor(loss), steps[-1].prediction_loss, outputs[-1], costs[-1])


TITLE = "MAG-GNN, Q-learning over tuples of nodes (Kong et al. 2023)"
NOTE = "evaluation starts from random tuples, drawn by 'seed'; there are no official numbers to compare with"
register(System("mag-gnn", TITLE, MAGGNNSettings, MAGGNN, random_in_evaluation=True, note=NOTE))
