"""A trained model as tensors in, tensors out: no checks, no sorted edges, no loop whose length depends on the data.

That is what `torch.export` can follow. The weights are the model's own; a test holds the numbers to the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs, MarkNodes
from policylearn.models import SubgraphGNN
from policylearn.nn import (
    GIN,
    CopiesThenNodes,
    CopyPool,
    NodeEncoder,
    NodesThenCopies,
    SingleStreamEncoder,
    StreamLayer,
    TwoStreamEncoder,
    joined,
    segment_max,
    segment_sum,
)
from policylearn.nn.features import CategoricalEdges
from policylearn.policies import FullPolicy, LearnedPolicy, NoPolicy, RandomPolicy, RankedPolicy, degree
from policylearn.policies.random import hashed_uniform, structure_hash

AnyEncoder = TwoStreamEncoder | SingleStreamEncoder


class NotPlainError(ValueError):
    """A model that has no plain form, with what stands in the way."""


class PlainBatch(NamedTuple):
    """A batch of graphs under PyG's names, with the nodes of each graph counted.

    The sizes come in place of PyG's ``ptr``: of a length G + 1 the tracer would conclude that there are several graphs.

    Shapes:
        x ``(N, F)``, edge_index ``(2, E)``, batch ``(N,)``, sizes ``(G,)``, edge_attr ``(E, D)``, x_real ``(N, F')``,
        descriptors ``(G, D')``.
    """

    x: Tensor
    edge_index: Tensor
    batch: Tensor
    sizes: Tensor
    edge_attr: Tensor | None
    x_real: Tensor | None
    descriptors: Tensor | None

    @property
    def num_graphs(self) -> int:
        return self.sizes.shape[0]

    @property
    def num_nodes(self) -> int:
        return self.batch.shape[0]

    @property
    def ptr(self) -> Tensor:
        """Where the nodes of each graph start, ``(G,)``."""
        return self.sizes.cumsum(0) - self.sizes


class PlainCopies(NamedTuple):
    """Marked copies: S of each node side by side; in a full bag, where their number differs, S is 1 and N is R.

    Shapes:
        node ``(N,)`` the node that each row stands for, None where rows are the nodes; marks ``(N, S)``; source, target
        and edge ``(E,)`` the messages and the column of ``edge_index`` that each is, None where it is its own.
    """

    node: Tensor | None
    marks: Tensor
    source: Tensor
    target: Tensor
    edge: Tensor | None


class PlainForm(nn.Module):
    """``model`` in evaluation.

    Args:
        model: a `SubgraphGNN` of GIN layers over marked copies, with a learned or a fixed policy.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = check_plain(model)

    def forward(self, batch: PlainBatch) -> tuple[Tensor, Tensor]:
        """Outputs ``(G, outputs)`` (node tasks ``(N, outputs)``) and picks, counted in their graph, ``(T, G)``."""
        picks = self.picks(batch)
        if isinstance(self.model.policy, FullPolicy):
            copies = full_bag(batch)
        else:
            unmarked = torch.zeros_like(batch.batch, dtype=torch.bool)
            copies = shared_edges(batch, [unmarked, *(mark(pick, batch) for pick in picks)])
        states = encode(cast(AnyEncoder, self.model.encoder), batch, copies)
        vectors = self.read(states, copies, batch)
        if self.model.vector_norm is not None:
            vectors = self.model.vector_norm(vectors)
        if batch.descriptors is not None:
            vectors = torch.cat([vectors, batch.descriptors.to(vectors.dtype)], dim=1)
        starts = batch.ptr
        local = torch.stack([pick - starts for pick in picks]) if picks else starts.new_zeros(0, batch.num_graphs)
        return joined(self.model.head(vectors), self.model.column_outputs(batch.descriptors)), local

    def read(self, states: Tensor, copies: PlainCopies, batch: PlainBatch) -> Tensor:
        """One vector per graph, or per node, ``(N, S, C) -> (G, C)``."""
        readout = self.model.readout
        if isinstance(readout, NodesThenCopies):
            each = segment_sum(states, batch.batch, batch.num_graphs)  # (G, S, C)
            if readout.nodes != "sum":
                mean = graph_mean(states, batch)
                each = mean if readout.nodes == "mean" else torch.cat([mean, each], dim=-1)
            return each.mean(1) if readout.copies == "mean" else each.sum(1)
        assert isinstance(readout, CopiesThenNodes)
        nodes = pool_copies(states, copies, batch, readout.pool)
        if readout.level == "node":
            return nodes
        sums = segment_sum(nodes, batch.batch, batch.num_graphs)
        if readout.nodes == "sum":
            return sums
        means = graph_mean(nodes, batch)
        return means if readout.nodes == "mean" else torch.cat([means, sums], dim=-1)

    def picks(self, batch: PlainBatch) -> list[Tensor]:
        """The node that each step picks in each graph, T times ``(G,)``; none where all or no nodes are marked."""
        policy = self.model.policy
        if isinstance(policy, LearnedPolicy):
            return learned_picks(policy, batch)
        chosen: list[Tensor] = []
        if isinstance(policy, RankedPolicy):
            ones = torch.ones_like(batch.edge_index[1], dtype=torch.float64)
            degrees = segment_sum(ones, batch.edge_index[1], batch.num_nodes)
            for _ in range(policy.picks):
                chosen.append(best(degrees, chosen, batch, policy.tie_tolerance))
        if isinstance(policy, RandomPolicy):
            graphs = cast(Graphs, batch)  # which has all that the draws read
            fingerprint = structure_hash(graphs)
            for step in range(policy.picks):
                keys = hashed_uniform(fingerprint + policy.seed * 1_000_003 + step, graphs)
                chosen.append(best(keys, [] if policy.replacement else chosen, batch, 0.0))
        return chosen


def check_plain(model: nn.Module) -> SubgraphGNN:
    """The model, or a `NotPlainError` that names what it has beyond the plain form."""
    if not isinstance(model, SubgraphGNN):
        raise NotPlainError(f"'{type(model).__name__}' is a system of its own; models of a policy can be exported")
    policy, readout = model.policy, model.readout
    encoders = [model.encoder, *([policy.encoder] if isinstance(policy, LearnedPolicy) else [])]
    if model.depends_on_batch:
        raise NotPlainError("its answers depend on the batch (mode 'paper', or norms without running statistics)")
    if not isinstance(model.rule, MarkNodes):
        raise NotPlainError(f"its bag rule is {model.rule}; copies with edges of their own cannot be exported")
    if isinstance(policy, RankedPolicy) and policy.score is not degree:
        raise NotPlainError("the policy 'centrality' takes exponentials of matrices of the graphs' own sizes")
    if not isinstance(policy, LearnedPolicy | RandomPolicy | RankedPolicy | FullPolicy | NoPolicy):
        raise NotPlainError(f"the policy '{type(policy).__name__}' is not known")
    for encoder in encoders:
        known = isinstance(encoder, TwoStreamEncoder | SingleStreamEncoder)
        if not known or not all(isinstance(conv, GIN) for conv in convolutions(cast(AnyEncoder, encoder))):
            raise NotPlainError("its convolutions are not GIN; train with --prediction.conv gin")
    if not isinstance(readout, CopiesThenNodes | NodesThenCopies):
        raise NotPlainError(f"the readout '{type(readout).__name__}' is not known")
    if isinstance(readout, NodesThenCopies) and (readout.between is not None or isinstance(policy, FullPolicy)):
        raise NotPlainError("it pools the nodes of each copy first, over a full bag or with a map in between")
    return model


def convolutions(encoder: AnyEncoder) -> list[nn.Module]:
    """Of all layers and streams."""
    streams = [layer.features for layer in encoder.layers] + [
        layer.marks for layer in encoder.layers if hasattr(layer, "marks")
    ]
    return [cast(StreamLayer, stream).conv for stream in streams]  # type: ignore[misc]


def encode(encoder: AnyEncoder, batch: PlainBatch, copies: PlainCopies) -> Tensor:
    """States of every copy, ``(N, S, C)``; see the encoders' own forward passes."""
    nodes = encode_nodes(cast(NodeEncoder, encoder.node_encoder), batch)
    nodes = nodes if copies.node is None else nodes.index_select(0, copies.node)
    h = nodes.unsqueeze(1).expand(-1, copies.marks.shape[1], -1)  # (N, C) -> (N, S, C)
    if isinstance(encoder, SingleStreamEncoder):
        for layer in encoder.layers:
            new = pass_messages(layer.features, h, batch, copies)  # type: ignore[arg-type]
            h = new + h if layer.residual else new
        return h
    p = copies.marks.unsqueeze(2).to(h.dtype)
    h = torch.cat([p, h], dim=2)
    for layer in encoder.layers:
        new = pass_messages(layer.features, torch.cat([h, p], dim=2), batch, copies)  # type: ignore[arg-type]
        h, p = new + h if layer.residual else new, pass_messages(layer.marks, p, batch, copies)  # type: ignore[arg-type]
    return h + p


def encode_nodes(encoder: NodeEncoder, batch: PlainBatch) -> Tensor:
    """See `NodeEncoder`, ``(N, C)``."""
    features = encoder.features
    if not features.present:
        return encoder.vector.expand(batch.num_nodes, -1)
    total: Tensor | None = None
    for column in range(len(features.categorical)):
        found = encoder.tables[column](batch.x[:, column])
        total = found if total is None else total + found
    if features.real:
        parts = [] if features.categorical or batch.x.shape[1] == 0 else [batch.x]
        parts += [] if batch.x_real is None else [batch.x_real]
        numbers = encoder.linear(torch.cat(parts, dim=1).to(encoder.linear.weight.dtype))
        total = numbers if total is None else total + numbers
    assert total is not None
    return total


def pass_messages(stream: StreamLayer, states: Tensor, batch: PlainBatch, copies: PlainCopies) -> Tensor:
    """See `StreamLayer` and `GIN`, ``(N, S, C_in) -> (N, S, C)``."""
    conv = cast(GIN, stream.conv)
    messages = states.index_select(0, copies.source)  # (E, S, C_in)
    if conv.edges is not None:
        assert batch.edge_attr is not None
        edge_attr = batch.edge_attr if copies.edge is None else batch.edge_attr.index_select(0, copies.edge)
        if isinstance(conv.edges, CategoricalEdges):
            columns = [table(edge_attr[:, column]) for column, table in enumerate(conv.edges.tables)]
            term = torch.stack(columns).sum(0)
        else:
            term = conv.edges.linear(edge_attr.to(states.dtype))
        messages = torch.relu(messages + term.unsqueeze(1))
    summed = conv.scale * states + torch.zeros_like(states).index_add(0, copies.target, messages)
    rows = torch.relu(conv.norm(conv.lin1(summed).flatten(0, 1)))
    rows = torch.relu(stream.norm(conv.lin2(rows)))
    return rows.view(states.shape[0], states.shape[1], rows.shape[1])


def shared_edges(batch: PlainBatch, marks: Sequence[Tensor]) -> PlainCopies:
    """Equally many copies of every node, over the edges of the graphs themselves; S times ``(N,)``."""
    return PlainCopies(None, torch.stack(list(marks), dim=1), batch.edge_index[0], batch.edge_index[1], None)


def full_bag(batch: PlainBatch) -> PlainCopies:
    """The unmarked graph and a copy for each of its nodes, a row for each node of each copy."""
    nodes, edges = torch.arange(batch.num_nodes), torch.arange(batch.edge_index.shape[1])
    copies = batch.sizes.index_select(0, batch.batch) + 1  # (N,)
    first = copies.cumsum(0) - copies
    node = torch.repeat_interleave(nodes, copies)  # (R,)
    torch._check(node.shape[0] > 0)  # type: ignore[no-untyped-call] # which the tracer cannot know
    slot = torch.arange(node.shape[0]) - first.index_select(0, node)
    marked = (slot > 0) & (slot - 1 + batch.ptr.index_select(0, batch.batch.index_select(0, node)) == node)
    source, target = batch.edge_index[0], batch.edge_index[1]
    times = copies.index_select(0, target)
    edge = torch.repeat_interleave(edges, times)
    place = torch.arange(edge.shape[0]) - (times.cumsum(0) - times).index_select(0, edge)
    rows_of = [first.index_select(0, side.index_select(0, edge)) + place for side in (source, target)]
    return PlainCopies(node, marked.unsqueeze(1), rows_of[0], rows_of[1], edge)


def pool_copies(states: Tensor, copies: PlainCopies, batch: PlainBatch, pool: CopyPool) -> Tensor:
    """Each node over its copies, ``(N, S, C) -> (N, C)``."""
    if copies.node is None:
        return states.amin(1) if pool.how == "min" else states.mean(1) if pool.how == "mean" else states.sum(1)
    rows, count = states.squeeze(1), batch.num_nodes
    if pool.how == "min":
        highest = rows.new_full((count, rows.shape[1]), torch.inf)
        return highest.scatter_reduce(0, copies.node.unsqueeze(1).expand_as(rows), rows, "amin")
    total = segment_sum(rows, copies.node, count)
    if pool.how == "sum":
        return total
    sizes = batch.sizes.index_select(0, batch.batch) + 1
    return total / sizes.unsqueeze(1).to(total.dtype)


def learned_picks(policy: LearnedPolicy, batch: PlainBatch) -> list[Tensor]:
    """See `LearnedPolicy`, in evaluation."""
    encoder = cast(AnyEncoder, policy.encoder)
    chosen: list[Tensor] = []
    seen: list[Tensor] = []  # the states of each copy, (N, C)
    newest = torch.zeros_like(batch.batch, dtype=torch.bool)
    for _ in range(policy.picks):
        seen.append(encode(encoder, batch, shared_edges(batch, [newest])).squeeze(1))
        stacked = torch.stack(seen, dim=1)
        nodes = pool_copies(stacked, shared_edges(batch, [newest]), batch, policy.pool)
        if policy.add_graph_mean:
            nodes = nodes + graph_mean(nodes, batch).index_select(0, batch.batch)
        scores = policy.selector(nodes).squeeze(-1)
        chosen.append(best(scores, chosen if policy.mask_selected else [], batch, policy.tie_tolerance))
        newest = mark(chosen[-1], batch)
    return chosen


def best(scores: Tensor, taken: Sequence[Tensor], batch: PlainBatch, tolerance: float) -> Tensor:
    """The first free node of each graph within the tolerance of the best, ``(N,) -> (G,)``; see `segment_argmax`."""
    count, graphs = batch.num_nodes, batch.num_graphs
    if taken:
        used = torch.stack([mark(pick, batch) for pick in taken]).any(0)
        left = segment_sum((~used).long(), batch.batch, graphs)
        free = ~used | (left == 0).index_select(0, batch.batch)
        scores = scores.masked_fill(~free, -torch.inf)
    top = segment_max(scores, batch.batch, graphs)
    floor = (top - tolerance * (1 + top.abs())).index_select(0, batch.batch)
    ids = torch.arange(count)
    candidates = torch.where(scores >= floor, ids, count)
    beyond = torch.zeros_like(batch.sizes) + count
    return beyond.scatter_reduce(0, batch.batch, candidates, "amin")


def graph_mean(values: Tensor, batch: PlainBatch) -> Tensor:
    """See `segment_mean`, whose ``len`` would fix the number of graphs, ``(N, ...) -> (G, ...)``."""
    sizes = batch.sizes.to(values.dtype).view(-1, *([1] * (values.dim() - 1)))
    return segment_sum(values, batch.batch, batch.num_graphs) / sizes


def mark(picks: Tensor, batch: PlainBatch) -> Tensor:
    """Which nodes are picked, ``(G,) -> (N,)``."""
    return picks.index_select(0, batch.batch) == torch.arange(batch.num_nodes)
