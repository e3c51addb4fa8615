"""Features as plain numbers: categories become columns of zeros and a one, nothing is learned."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from policylearn.bags import Graphs
from policylearn.nn.features import Features, check_ids, real_columns, refuse_unread, require_edges


def one_hot(ids: Tensor, sizes: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Each column of ids as so many columns of 0 and 1, side by side, ``(R, F) -> (R, sum of sizes)``."""
    check_ids(ids, sizes)
    columns = [functional.one_hot(ids[:, column].long(), size) for column, size in enumerate(sizes)]
    return torch.cat(columns, dim=1).to(dtype)


def node_width(features: Features) -> int:
    """How many columns `node_numbers` gives."""
    return max(1, sum(features.categorical) + features.real)


def edge_width(features: Features) -> int:
    """How many columns `edge_numbers` gives."""
    return sum(features.categorical) + features.real


def node_numbers(graphs: Graphs, features: Features, dtype: torch.dtype) -> Tensor:
    """Categories of nodes one-hot, then their numbers; a column of ones where there is neither, ``(N, F)``."""
    refuse_unread(graphs, features)
    parts = [one_hot(graphs.x, features.categorical, dtype)] if features.categorical else []
    if features.real:
        parts.append(real_columns(graphs, features).to(dtype))
    return torch.cat(parts, dim=1) if parts else torch.ones(graphs.num_nodes, 1, dtype=dtype, device=graphs.x.device)


def edge_numbers(graphs: Graphs, features: Features, dtype: torch.dtype) -> Tensor:
    """The same of edges, in the order of ``edge_index``, ``(E, D)``; no columns where there is nothing."""
    if not features.present:
        return torch.ones(graphs.edge_index.shape[1], 0, dtype=dtype, device=graphs.x.device)
    given = require_edges(graphs.edge_attr)
    return one_hot(given, features.categorical, dtype) if features.categorical else given.to(dtype)
