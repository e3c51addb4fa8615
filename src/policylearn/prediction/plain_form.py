"""A trained model as tensors in, tensors out: no checks, no sorted edges, no loop whose length depends on the data.

That is what `torch.export` can follow. The weights are the model's own; a test holds the numbers to the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from policylearn.bags import MarkNodes
from policylearn.models import SubgraphGNN
from policylearn.nn import (
    GIN,
    CopiesThenNodes,
    CopyPool,
    NodeEncoder,
    SingleStreamEncoder,
    StreamLayer,
    TwoStreamEncoder,
    joined,
    segment_max,
    segment_sum,
)
from policylearn.nn.features import CategoricalEdges
from policylearn.policies import LearnedPolicy, NoPolicy
from policylearn.settings.run_files import RunError

AnyEncoder = TwoStreamEncoder | SingleStreamEncoder


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


class PlainForm(nn.Module):
    """A `SubgraphGNN` of GIN layers over marked copies, with a learned policy or none, in evaluation."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = check_plain(model)

    def forward(self, batch: PlainBatch) -> tuple[Tensor, Tensor]:
        """Outputs ``(G, outputs)`` (node tasks ``(N, outputs)``) and picks, counted in their graph, ``(T, G)``."""
        policy, readout = self.model.policy, cast(CopiesThenNodes, self.model.readout)
        picks = learned_picks(policy, batch) if isinstance(policy, LearnedPolicy) else []
        unmarked = torch.zeros_like(batch.batch, dtype=torch.bool)
        marks = torch.stack([unmarked, *(mark(pick, batch) for pick in picks)], dim=1)  # (N, S)
        nodes = pool_copies(encode(cast(AnyEncoder, self.model.encoder), batch, marks), readout.pool)
        vectors = nodes if readout.level == "node" else pool_nodes(nodes, batch, readout.nodes)
        if self.model.vector_norm is not None:
            vectors = self.model.vector_norm(vectors)
        if batch.descriptors is not None:
            vectors = torch.cat([vectors, batch.descriptors.to(vectors.dtype)], dim=1)
        starts = batch.sizes.cumsum(0) - batch.sizes
        local = torch.stack([pick - starts for pick in picks]) if picks else starts.new_zeros(0, starts.shape[0])
        return joined(self.model.head(vectors), self.model.column_outputs(batch.descriptors)), local


def check_plain(model: nn.Module) -> SubgraphGNN:
    """The model, or a `RunError` that names what it has beyond the plain form."""
    if not isinstance(model, SubgraphGNN):
        raise RunError(f"models of class '{type(model).__name__}' cannot be exported; train with --model policy-learn")
    policy = model.policy
    encoders = [model.encoder, *([policy.encoder] if isinstance(policy, LearnedPolicy) else [])]
    if model.depends_on_batch:
        raise RunError("its answers depend on the batch (mode 'paper', or norms without running statistics)")
    if not isinstance(model.rule, MarkNodes):
        raise RunError(f"its bag rule is {model.rule}; copies with edges of their own cannot be exported")
    if not isinstance(policy, LearnedPolicy | NoPolicy):
        raise RunError(f"its policy is a {type(policy).__name__}; train with --policy learned or none")
    for encoder in encoders:
        known = isinstance(encoder, TwoStreamEncoder | SingleStreamEncoder)
        if not known or not all(isinstance(conv, GIN) for conv in convolutions(cast(AnyEncoder, encoder))):
            raise RunError("its convolutions are not GIN; train with --prediction.conv gin")
    if not isinstance(model.readout, CopiesThenNodes):
        raise RunError(f"its readout is a {type(model.readout).__name__}; train with --order copies")
    return model


def convolutions(encoder: AnyEncoder) -> list[nn.Module]:
    """Of all layers and streams."""
    streams = [layer.features for layer in encoder.layers] + [
        layer.marks for layer in encoder.layers if hasattr(layer, "marks")
    ]
    return [cast(StreamLayer, stream).conv for stream in streams]  # type: ignore[misc]


def encode(encoder: AnyEncoder, batch: PlainBatch, marks: Tensor) -> Tensor:
    """States of every copy, ``(N, S) -> (N, S, C)``; see the encoders' own forward passes."""
    nodes = encode_nodes(cast(NodeEncoder, encoder.node_encoder), batch)
    h = nodes.unsqueeze(1).expand(-1, marks.shape[1], -1)  # (N, C) -> (N, S, C)
    if isinstance(encoder, SingleStreamEncoder):
        for layer in encoder.layers:
            new = pass_messages(layer.features, h, batch)  # type: ignore[arg-type]
            h = new + h if layer.residual else new
        return h
    p = marks.unsqueeze(2).to(h.dtype)
    h = torch.cat([p, h], dim=2)
    for layer in encoder.layers:
        new = pass_messages(layer.features, torch.cat([h, p], dim=2), batch)  # type: ignore[arg-type]
        h, p = new + h if layer.residual else new, pass_messages(layer.marks, p, batch)  # type: ignore[arg-type]
    return h + p


def encode_nodes(encoder: NodeEncoder, batch: PlainBatch) -> Tensor:
    """See `NodeEncoder`, ``(N, C)``."""
    features = encoder.features
    if not features.present:
        return encoder.vector.expand(batch.batch.shape[0], -1)
    parts = [encoder.tables[column](batch.x[:, column]) for column in range(len(features.categorical))]
    if features.real:
        numbers = [] if features.categorical or batch.x.shape[1] == 0 else [batch.x]
        numbers += [] if batch.x_real is None else [batch.x_real]
        parts.append(encoder.linear(torch.cat(numbers, dim=1).to(encoder.linear.weight.dtype)))
    return torch.stack(parts).sum(0)


def pass_messages(stream: StreamLayer, states: Tensor, batch: PlainBatch) -> Tensor:
    """See `StreamLayer` and `GIN`, ``(N, S, C_in) -> (N, S, C)``."""
    conv = cast(GIN, stream.conv)
    source, target = batch.edge_index[0], batch.edge_index[1]
    messages = states.index_select(0, source)  # (E, S, C_in)
    if conv.edges is not None:
        assert batch.edge_attr is not None
        if isinstance(conv.edges, CategoricalEdges):
            columns = [table(batch.edge_attr[:, column]) for column, table in enumerate(conv.edges.tables)]
            term = torch.stack(columns).sum(0)
        else:
            term = conv.edges.linear(batch.edge_attr.to(states.dtype))
        messages = torch.relu(messages + term.unsqueeze(1))
    summed = conv.scale * states + torch.zeros_like(states).index_add(0, target, messages)
    rows = torch.relu(conv.norm(conv.lin1(summed).flatten(0, 1)))
    rows = torch.relu(stream.norm(conv.lin2(rows)))
    return rows.view(states.shape[0], states.shape[1], rows.shape[1])


def pool_copies(states: Tensor, pool: CopyPool) -> Tensor:
    """Each node over its copies, ``(N, S, C) -> (N, C)``."""
    return states.amin(1) if pool.how == "min" else states.mean(1) if pool.how == "mean" else states.sum(1)


def pool_nodes(nodes: Tensor, batch: PlainBatch, how: str) -> Tensor:
    """The nodes of each graph, ``(N, C) -> (G, C)``; `segment_mean` would fix the number of graphs by its ``len``."""
    sums = segment_sum(nodes, batch.batch, batch.sizes.shape[0])
    means = sums / batch.sizes.to(nodes.dtype).unsqueeze(1)
    return sums if how == "sum" else means if how == "mean" else torch.cat([means, sums], dim=1)


def learned_picks(policy: LearnedPolicy, batch: PlainBatch) -> list[Tensor]:
    """See `LearnedPolicy`, in evaluation; T times ``(G,)``."""
    chosen: list[Tensor] = []
    seen: list[Tensor] = []  # the states of each copy, (N, C)
    newest = torch.zeros_like(batch.batch, dtype=torch.bool)
    for _ in range(policy.picks):
        seen.append(encode(cast(AnyEncoder, policy.encoder), batch, newest.unsqueeze(1)).squeeze(1))
        nodes = pool_copies(torch.stack(seen, dim=1), policy.pool)
        if policy.add_graph_mean:
            nodes = nodes + pool_nodes(nodes, batch, "mean").index_select(0, batch.batch)
        scores = policy.selector(nodes).squeeze(-1)
        chosen.append(best(scores, chosen if policy.mask_selected else [], batch, policy.tie_tolerance))
        newest = mark(chosen[-1], batch)
    return chosen


def best(scores: Tensor, taken: Sequence[Tensor], batch: PlainBatch, tolerance: float) -> Tensor:
    """The first free node of each graph within the tolerance of the best, ``(N,) -> (G,)``; see `segment_argmax`."""
    count, graphs = batch.batch.shape[0], batch.sizes.shape[0]
    if taken:
        used = torch.stack([mark(pick, batch) for pick in taken]).any(0)
        left = segment_sum((~used).long(), batch.batch, graphs)
        free = ~used | (left == 0).index_select(0, batch.batch)
        scores = scores.masked_fill(~free, -torch.inf)
    top = segment_max(scores, batch.batch, graphs)
    floor = (top - tolerance * (1 + top.abs())).index_select(0, batch.batch)
    candidates = torch.where(scores >= floor, torch.arange(count), count)
    beyond = torch.zeros_like(batch.sizes) + count
    return beyond.scatter_reduce(0, batch.batch, candidates, "amin")


def mark(picks: Tensor, batch: PlainBatch) -> Tensor:
    """Which nodes are picked, ``(G,) -> (N,)``."""
    return picks.index_select(0, batch.batch) == torch.arange(batch.batch.shape[0])
