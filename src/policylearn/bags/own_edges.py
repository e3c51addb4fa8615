"""Copies that each hold some nodes of their graph and the edges between them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from policylearn.bags.adjacency import Adjacency, pointers
from policylearn.bags.bag import Bag, copies_per_graph, with_unmarked
from policylearn.bags.graphs import Graphs
from policylearn.bags.selection import Selection


def induced_bag(
    graphs: Graphs, slots: Tensor, slot_roots: Tensor, copy: Tensor, node: Tensor, marks: Tensor | None = None
) -> Bag:
    """The bag of these rows, in any order; a pair of copy and node comes once.

    Args:
        graphs: the batch.
        slots: number of copies of each graph, ``(G,)``.
        slot_roots: the root of each copy, see `Bag`.
        copy: the copy of each row, counted through the batch, graph by graph, ``(R,)``.
        node: the node of each row, ``(R,)``.
        marks: of each row, ``(R, M)``; zeros if not given.
    """
    total = int(slots.sum())
    keys, order = torch.sort(node * total + copy)
    node, copy = node.index_select(0, order), copy.index_select(0, order)
    marks = torch.zeros(len(node), 1, device=node.device) if marks is None else marks.index_select(0, order)
    adjacency = graphs.adjacency
    message, target = incoming(adjacency, node)
    # A message stays where its source is in the copy of its target.
    wanted = adjacency.source.index_select(0, message) * total + copy.index_select(0, target)
    place = torch.searchsorted(keys, wanted).clamp(max=max(len(keys) - 1, 0))
    there = keys.index_select(0, place) == wanted
    edges = adjacency.induced(place[there], target[there], message[there], len(node))
    return Bag(marks, pointers(node, graphs.num_nodes), slots, slot_roots, graphs.batch, edges, None, copy)


def bag_of_steps(
    graphs: Graphs, selection: Selection, step: Tensor, node: Tensor, *, dtype: torch.dtype, unmarked: bool, mark: bool
) -> Bag:
    """The bag whose copy of each step holds these nodes, with the unmarked graph in front where it is wanted.

    Shapes:
        step and node ``(R,)``.
    """
    if not mark:
        marks = torch.zeros(len(node), dtype=dtype, device=node.device)
    elif selection.marks is None:
        marks = (selection.roots[step, graphs.batch.index_select(0, node)] == node).to(dtype)
    else:
        marks = selection.marks[step, node].to(dtype)
    roots, slot = selection.roots, step
    if unmarked:
        every = torch.arange(graphs.num_nodes, device=node.device)
        node, slot = torch.cat([every, node]), torch.cat([torch.zeros_like(every), 1 + step])
        roots, marks = with_unmarked(roots), torch.cat([marks.new_zeros(len(every)), marks])
    slots = copies_per_graph(selection, unmarked=unmarked)
    first = slots.cumsum(0) - slots
    copy = first.index_select(0, graphs.batch.index_select(0, node)) + slot
    return induced_bag(graphs, slots, roots, copy, node, marks.unsqueeze(1))


def with_neighbours(adjacency: Adjacency, step: Tensor, node: Tensor) -> tuple[Tensor, Tensor]:
    """The nodes of each step and the sources of their messages, each pair of step and node once."""
    message, row = incoming(adjacency, node)
    sources, nodes = adjacency.source.index_select(0, message), adjacency.num_nodes
    keys = torch.unique(torch.cat([step * nodes + node, step.index_select(0, row) * nodes + sources]))
    return keys // nodes, keys % nodes


def incoming(adjacency: Adjacency, node: Tensor) -> tuple[Tensor, Tensor]:
    """The messages that each of these nodes hears, and which of them hears each, ``(R,) -> (M,), (M,)``."""
    counts = adjacency.in_degree.index_select(0, node)
    message = ranges(adjacency.target_ptr.index_select(0, node), counts)
    return message, torch.repeat_interleave(torch.arange(len(node), device=node.device), counts)


def ranges(starts: Tensor, counts: Tensor) -> Tensor:
    """``starts[i], starts[i] + 1, ...`` of ``counts[i]`` numbers each, one after the other."""
    first = counts.cumsum(0) - counts
    places = torch.arange(int(counts.sum()), device=starts.device)
    return places + torch.repeat_interleave(starts - first, counts)


def attached(graphs: Graphs, name: str, transform: str) -> Tensor:
    """What a transform attached to the batch under that name, or a `ValueError` that says which one to apply."""
    if name not in graphs.extras:
        raise ValueError(
            f"the batch has no '{name}'; apply the transform '{transform}' to the data before batching"
            " (policylearn.data.transforms), with the settings that the model's system names"
        )
    return graphs.extras[name]


def attached_ego_nets(graphs: Graphs, marks: Sequence[str] = ("ego_distance",)) -> Bag:
    """The ego net of every node as a copy of its own, from what the transform 'ego_nets' attached.

    A copy has the number of its root, so that states can be pooled by root and by node alike. The structures named by
    ``marks`` become the marks of the rows, one column each.
    """
    root, node = (attached(graphs, name, "ego_nets") for name in ("ego_root", "ego_node"))
    columns = [attached(graphs, name, "ego_nets").view(len(root), 1) for name in marks]
    values = torch.cat([column if column.is_floating_point() else column.float() for column in columns], dim=1)
    return induced_bag(graphs, graphs.sizes, Selection.full(graphs.ptr).roots, root, node, values)
