"""What a policy did on one graph, as plain values: the picks in their order, and with which probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch_geometric.data import Batch

from policylearn.bags import NO_PICK, Graphs, Selection
from policylearn.models import SubgraphGNN


@dataclass(frozen=True)
class Trace:
    """The picks on one graph.

    Args:
        edges: both ends of each edge, as node ids of the graph.
        num_nodes: n.
        picks: the picked node of each step.
        probabilities: at each step that of each node, 0 where it could not be picked; None if the policy has none.

    Shapes:
        edges ``(2, E)``, picks ``(T,)``, probabilities ``(T, n)``.
    """

    edges: tuple[tuple[int, ...], tuple[int, ...]]
    num_nodes: int
    picks: tuple[int, ...]
    probabilities: tuple[tuple[float, ...], ...] | None


def trace_selection(selection: Selection, batch: Batch | Graphs, graph: int = 0) -> Trace:
    """The trace of one graph of a batch.

    Args:
        selection: the picks for the batch.
        batch: the graphs.
        graph: which one.
    """
    if not 0 <= graph < batch.num_graphs:
        raise ValueError(f"'graph' must be 0 to {batch.num_graphs - 1} (got {graph})")
    begin, end = batch.ptr[graph : graph + 2].tolist()
    inside = (batch.edge_index[0] >= begin) & (batch.edge_index[0] < end)
    source, target = (batch.edge_index[:, inside] - begin).tolist()
    picks = [node for node in selection.local_roots(batch.ptr)[:, graph].tolist() if node != NO_PICK]
    probabilities = None
    if selection.logits is not None:
        shares = torch.softmax(selection.logits[:, begin:end].detach().double(), dim=1)  # (T, n)
        probabilities = tuple(tuple(row) for row in shares.tolist())
    return Trace((tuple(source), tuple(target)), end - begin, tuple(picks), probabilities)


@torch.no_grad()
def trace(
    model: SubgraphGNN, batch: Batch, graph: int = 0, *, generator: torch.Generator | None = None
) -> tuple[Trace, int]:
    """The trace of a model in evaluation on one graph of a batch, and the class that it then names.

    Args:
        model: with one output per class; left in the mode it was in.
        batch: the graphs.
        graph: which one.
        generator: where a random policy draws from; None is its own fixed draw.
    """
    was_training = model.training
    model.eval()
    try:
        selection = model.select(batch, generator=generator)
        named = int(model.predict(batch, selection)[graph].argmax())
    finally:
        model.train(was_training)
    return trace_selection(selection, batch, graph), named
