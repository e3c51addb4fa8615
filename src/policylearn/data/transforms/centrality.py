"""How central each node is, as a column, and how many neighbours nodes have on average."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, get_args

import numpy as np

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.structures import REAL_COLUMNS, Structure
from policylearn.data.transforms.base import Structures, Transform, columns_of_nodes, register
from policylearn.data.transforms.dense import DenseGroup, per_node

CentralityMeasure = Literal["degree", "subgraph", "closeness"]


@register
@dataclass(frozen=True)
class Centrality(Transform):
    r"""One centrality of every node.

    ``degree``: incoming edges. ``subgraph``: :math:`\log (e^A)_{vv}`, the weighted number of closed walks.
    ``closeness``: one over the mean distance from the nodes that reach v, times the share of nodes that do; 0 where
    none does.

    Args:
        kind: which.
        into: the structure that gets it.
    """

    name: ClassVar[str] = "centrality"
    kind: CentralityMeasure = "subgraph"
    into: str = REAL_COLUMNS

    def __post_init__(self) -> None:
        if self.kind not in get_args(CentralityMeasure):
            raise DataError(
                f"centrality: 'kind' must be one of {', '.join(get_args(CentralityMeasure))} (got {self.kind!r})"
            )

    def compute(self, graphs: PackedGraphs) -> Structures:
        """One column, ``(N, 1)``."""
        if self.kind == "subgraph":
            values = per_node(graphs, 1, log_subgraph_centrality)
        else:
            values = (degree(graphs) if self.kind == "degree" else closeness(graphs))[:, None]
        return columns_of_nodes(values, self.into)


def degree(graphs: PackedGraphs) -> Array:
    """Incoming edges of each node, ``(N,)``."""
    first = np.repeat(graphs.node_ptr[:-1].astype(np.int64), graphs.num_edges)
    return np.bincount(graphs.edge_index[1] + first, minlength=len(graphs.x)).astype(np.float64)


def log_subgraph_centrality(group: DenseGroup) -> Array:
    """The logarithm of the diagonal of the matrix exponential, ``(g, m, 1)``."""
    # exp(A) = exp(A - c) e^c keeps hubs of thousands of neighbours within range; the logarithm adds c back.
    import torch  # here, since processes that read molecules do without

    shift = np.sqrt(group.adjacency.sum(-1).max(-1))[:, None]  # (g, 1)
    shifted = torch.from_numpy(group.adjacency - shift[..., None] * np.eye(group.adjacency.shape[-1]))
    closed = torch.linalg.matrix_exp(shifted).diagonal(dim1=1, dim2=2).numpy()
    values: Array = np.log(np.maximum(closed, np.finfo(np.float64).tiny)) + shift
    return values[..., None]


def closeness(graphs: PackedGraphs) -> Array:
    """Closeness of each node, ``(N,)``."""
    from scipy.sparse import coo_array  # a fifth of a second, for those who need it
    from scipy.sparse.csgraph import shortest_path

    values = np.zeros(len(graphs.x))
    for graph in range(len(graphs)):
        start, nodes = int(graphs.node_ptr[graph]), int(graphs.num_nodes[graph])
        if nodes < 2:
            continue
        source, target = graphs.edge_index[:, graphs.edge_ptr[graph] : graphs.edge_ptr[graph + 1]].astype(np.int64)
        matrix = coo_array((np.ones(len(source)), (source, target)), shape=(nodes, nodes)).tocsr()
        distance = shortest_path(matrix, unweighted=True)  # [u, v]: from u to v
        reached = np.isfinite(distance)
        others = reached.sum(0) - 1.0
        total = np.where(reached, distance, 0.0).sum(0)
        values[start : start + nodes] = others**2 / np.maximum(total, 1.0) / (nodes - 1)
    return values


@register
@dataclass(frozen=True)
class MeanLogDegree(Transform):
    r"""The mean of :math:`\log(d + 1)` over all nodes of the training graphs, d the number of incoming edges.

    Graphs get nothing from it: a network that scales by degrees reads the one number when it is built.

    Args:
        mean: that number; learned.
    """

    name: ClassVar[str] = "mean_log_degree"
    learned: ClassVar[tuple[str, ...]] = ("mean",)
    mean: float | None = None

    def compute(self, graphs: PackedGraphs) -> Structures:
        """The logarithm of each node, ``(N,)``."""
        return {"log_degree": Structure(np.log1p(degree(graphs)), "node")}

    def learn(self, computed: Structures) -> Self:
        """Itself, with the mean."""
        return replace(self, mean=float(computed["log_degree"].values.mean()))

    def finish(self, computed: Structures) -> Structures:
        """Nothing."""
        return {}
