"""The method as it is usually written with PyG: every marked copy is a graph of its own, with edges of its own.

It does what the authors' code does, pass by pass: the selection network sees the whole bag at each pick, and its
norms take batch statistics over that bag. `python -m lab bench` measures our passes against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.nn import GINConv, GINEConv, global_mean_pool
from torch_geometric.utils import scatter, softmax, to_dense_batch

from policylearn.models import Inputs
from policylearn.nn import MLP, Features, NetworkConfig


@dataclass(frozen=True)
class Copies:
    """Copies of the graphs of a batch, each with its own rows and edges, the copies of a graph one after the other.

    Shapes:
        x ``(R, F)``, edge_index ``(2, M)``, edge_attr ``(M, D)``; node, slot and copy ``(R,)``: the node of the batch
        that a row stands for, the place of its copy among those of its graph, and its copy; graph ``(B,)`` of a copy.
    """

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None
    node: Tensor
    slot: Tensor
    copy: Tensor
    graph: Tensor


def replicate(batch: Batch, counts: Tensor) -> Copies:
    """Write out ``counts[g]`` copies of each graph g, edges included."""
    graphs = len(counts)
    edge_sizes = torch.bincount(batch.batch[batch.edge_index[0]], minlength=graphs)
    graph = torch.repeat_interleave(torch.arange(graphs), counts)  # (B,)
    node, copy, first_row = _repeat_blocks(batch.ptr.diff(), graph)
    edge, edge_copy, _ = _repeat_blocks(edge_sizes, graph)
    slot = torch.arange(len(graph)) - (counts.cumsum(0) - counts)[graph]
    shift = first_row - batch.ptr[graph]
    edge_attr = None if batch.edge_attr is None else batch.edge_attr[edge]
    edge_index = batch.edge_index[:, edge] + shift[edge_copy]
    return Copies(batch.x[node], edge_index, edge_attr, node, slot[copy], copy, graph)


def _repeat_blocks(sizes: Tensor, graph: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The entries of every copy's block in turn, the copy that each belongs to, and where each copy's block starts."""
    lengths = sizes[graph]
    start = lengths.cumsum(0) - lengths
    copy = torch.repeat_interleave(torch.arange(len(graph)), lengths)
    inside = torch.arange(len(copy)) - start[copy]
    return (sizes.cumsum(0) - sizes)[graph][copy] + inside, copy, start


class FeatureEncoder(nn.Module):
    """Embeddings summed over the columns, a linear map of numbers, or one vector where there is nothing to tell."""

    def __init__(self, features: Features, channels: int) -> None:
        super().__init__()
        self.features = features
        if features.real:
            self.linear = nn.Linear(features.real, channels)
        else:
            self.tables = nn.ModuleList(nn.Embedding(size, channels) for size in features.categorical or (1,))

    def forward(self, x: Tensor) -> Tensor:
        """Encode, ``(N, F) -> (N, C)``."""
        if self.features.real:
            numbers: Tensor = self.linear(x.to(self.linear.weight.dtype))
            return numbers
        ids = x if self.features.categorical else x.new_zeros(len(x), 1, dtype=torch.long)
        encoded: Tensor = self.tables[0](ids[:, 0])
        for column, table in enumerate(self.tables[1:], start=1):
            encoded = encoded + table(ids[:, column])
        return encoded


class ReplicatedLayer(nn.Module):
    """One layer of features h and marks p; without marks one of an ordinary GIN or GINE."""

    def __init__(self, channels: int, marks: int, edges: Features, *, track: bool, residual: bool) -> None:
        super().__init__()
        inputs = channels + marks
        self.residual = residual
        self.edges = FeatureEncoder(edges, inputs) if edges.present else None
        conv = GINConv if self.edges is None else GINEConv
        self.conv_h = conv(_mlp(inputs, channels, track), train_eps=True)
        self.norm_h = nn.BatchNorm1d(channels, track_running_stats=track)
        if marks:
            self.conv_p = GINConv(_mlp(marks, channels, track), train_eps=True)
            self.norm_p = nn.BatchNorm1d(channels, track_running_stats=track)

    def forward(self, h: Tensor, p: Tensor | None, copies: Copies) -> tuple[Tensor, Tensor | None]:
        """Both streams read the p that came in, ``(R, C)`` each."""
        z = h if p is None else torch.cat([h, p], dim=1)
        edges = () if self.edges is None or copies.edge_attr is None else (self.edges(copies.edge_attr),)
        new = torch.relu(self.norm_h(self.conv_h(z, copies.edge_index, *edges)))
        new = new + h if self.residual else new
        return new, None if p is None else torch.relu(self.norm_p(self.conv_p(p, copies.edge_index)))


def _mlp(inputs: int, channels: int, track: bool) -> nn.Sequential:
    norm = nn.BatchNorm1d(channels, track_running_stats=track)
    return nn.Sequential(nn.Linear(inputs, channels), norm, nn.ReLU(), nn.Linear(channels, channels))


class Network(nn.Module):
    """Node states of replicated copies.

    Args:
        marked: whether copies carry marks, on a stream of their own.
        track: keep running statistics in the norms.
    """

    def __init__(self, inputs: Inputs, network: NetworkConfig, *, marked: bool, track: bool) -> None:
        super().__init__()
        channels, edges = network.channels, inputs.edge_features
        self.node_encoder = FeatureEncoder(inputs.node_features, channels - marked)
        widths = [(1 if depth == 0 else channels) if marked else 0 for depth in range(network.layers)]
        self.layers = nn.ModuleList(
            ReplicatedLayer(channels, marks, edges, track=track, residual=network.residual) for marks in widths
        )

    def forward(self, copies: Copies, marks: Tensor | None) -> Tensor:
        """One state per row; marks are ``(R,)`` or None, the result ``(R, C)``."""
        p = None if marks is None else marks.unsqueeze(1)
        h: Tensor = self.node_encoder(copies.x)
        h = h if p is None else torch.cat([p, h], dim=1)
        for layer in self.layers:
            h, p = layer(h, p, copies)
        return h if p is None else h + p


class ReplicatedGNN(nn.Module):
    """Policy and prediction over replicated copies.

    Args:
        policy: learned, random, full or none.
        picks: T, of a learned or random policy.
        tau: temperature of the straight-through gradient.
    """

    def __init__(
        self, inputs: Inputs, network: NetworkConfig, policy: str = "learned", picks: int = 2, tau: float = 1.0
    ) -> None:
        super().__init__()
        if policy not in ("learned", "random", "full", "none"):
            raise ValueError(f"there is no replicated '{policy}' policy; use learned, random, full or none")
        self.policy, self.tau = policy, tau
        self.picks = picks if policy in ("learned", "random") else 0
        self.prediction = Network(inputs, network, marked=policy != "none", track=True)
        self.head = MLP(network.channels, 2 * network.channels, inputs.outputs)
        if policy == "learned":
            self.selection = Network(inputs, network, marked=True, track=False)
            self.selector = MLP(network.channels, 2 * network.channels, 1)

    def forward(self, batch: Batch, *, noise: Tensor | None = None, generator: torch.Generator | None = None) -> Tensor:
        """Pick, with Gumbel noise ``(T, N)`` that is drawn if not given, then predict, ``(G, outputs)``."""
        if self.policy == "full":
            copies = replicate(batch, batch.ptr.diff() + 1)
            local = copies.node - batch.ptr[batch.batch][copies.node]
            return self.predict(copies, (local + 1 == copies.slot).to(self.dtype))
        if self.policy == "none":
            return self.predict(replicate(batch, torch.ones_like(batch.ptr[1:])), None)
        return self.predict(*self.bag(batch, self.select(batch, noise, generator)))

    def select(self, batch: Batch, noise: Tensor | None = None, generator: torch.Generator | None = None) -> Tensor:
        """The marks of T picks, ``(T, N)``: one-hot in value; in training a learned pick is softmax in gradient."""
        roots: list[Tensor] = []
        marks = torch.zeros(0, len(batch.batch), dtype=self.dtype)
        for step in range(self.picks):
            if self.policy == "random":
                scores = torch.rand(len(batch.batch), generator=generator, dtype=self.dtype)
            else:
                scores = self.score(batch, marks)
            free = torch.ones(len(batch.batch), dtype=torch.bool)
            free[torch.cat([free.new_zeros(0, dtype=torch.long), *roots])] = False
            free |= (batch.ptr.diff() <= step)[batch.batch]
            scores = scores.masked_fill(~free, -torch.inf)
            soft = None
            if self.policy == "learned" and self.training:
                drawn = torch.empty_like(scores).exponential_(generator=generator).log().neg()
                scores = soft = softmax((scores + (drawn if noise is None else noise[step])) / self.tau, batch.batch)
            dense, _ = to_dense_batch(scores.detach(), batch.batch, fill_value=-torch.inf)
            roots.append(dense.argmax(1) + batch.ptr[:-1])
            mark = torch.zeros_like(scores).index_fill(0, roots[-1], 1.0)
            marks = torch.cat([marks, (mark if soft is None else mark - soft.detach() + soft).unsqueeze(0)])
        return marks

    def bag(self, batch: Batch, marks: Tensor) -> tuple[Copies, Tensor]:
        """The unmarked graph and a copy per pick, with the mark of every row, ``(R,)``."""
        copies = replicate(batch, torch.full_like(batch.ptr[1:], len(marks) + 1))
        every = torch.cat([marks.new_zeros(1, marks.shape[1]), marks])  # (S, N)
        return copies, every.flatten().index_select(0, copies.slot * marks.shape[1] + copies.node)

    def score(self, batch: Batch, marks: Tensor) -> Tensor:
        """One score per node from all copies so far, ``(N,)``."""
        copies, of_rows = self.bag(batch, marks)
        nodes = scatter(self.selection(copies, of_rows), copies.node, dim_size=len(batch.batch), reduce="mean")
        nodes = nodes + global_mean_pool(nodes, batch.batch)[batch.batch]
        scores: Tensor = self.selector(nodes)
        return scores.squeeze(1)

    def predict(self, copies: Copies, marks: Tensor | None) -> Tensor:
        """Mean over the nodes of a copy, then over the copies of a graph, ``(G, outputs)``."""
        vectors = global_mean_pool(self.prediction(copies, marks), copies.copy)  # (B, C)
        output: Tensor = self.head(global_mean_pool(vectors, copies.graph))
        return output

    @property
    def dtype(self) -> torch.dtype:
        return next(self.head.parameters()).dtype
