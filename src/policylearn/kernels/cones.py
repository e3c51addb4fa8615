"""The rows that marks can reach.

After l layers a marked copy differs from the unmarked graph only within l steps of its root (the cone of the mark), if
norms are fixed or know each row alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from policylearn.bags import Adjacency
from policylearn.kernels.arrays import as_array
from policylearn.kernels.threads import Array


@dataclass(frozen=True)
class Cones:
    """The rows (node and copy) that marks can reach, nearest first.

    Args:
        ends: how many rows lie within each distance of their root, ``(depth + 1,)``.
        node_of: node of each row.
        copy_of: copy of each row.
        first: where the messages of each row start in ``heard``.
        heard: the row that each message comes from, -1 where its source is out of reach.

    Shapes:
        node_of, copy_of and first ``(R,)``; heard one entry a message.
    """

    ends: Array
    node_of: Array
    copy_of: Array
    first: Array
    heard: Array

    @staticmethod
    def around(adjacency: Adjacency, roots: Tensor, depth: int) -> Cones:
        """The cones of copies with these roots, ``(copies,)``, over ``depth`` layers."""
        from policylearn.kernels.compiled_cones import cone_sizes, fill_cones

        ways = tuple(as_array(ids) for ids in (adjacency.source_ptr, adjacency.outgoing_targets, adjacency.target_ptr))
        nodes = adjacency.num_nodes
        seen, queue, row_at = np.full(nodes, -1), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
        sizes, messages = cone_sizes(as_array(roots), depth, *ways, seen, queue)
        ends = np.cumsum(sizes)
        rows = int(ends[-1])
        node_of, copy_of, first = (np.empty(rows, np.int64) for _ in range(3))
        heard = np.empty(messages, np.int64)
        fill_cones(
            as_array(roots), depth, *ways, as_array(adjacency.source), seen, queue, row_at, ends - sizes,
            node_of, copy_of, first, heard,
        )  # fmt: skip
        return Cones(ends, node_of, copy_of, first, heard)

    def add_changes(
        self, total: Tensor, rows: Tensor, times: Tensor, still: Tensor, owner: Tensor | None = None
    ) -> None:
        """Add to each node's total what its rows differ from ``still``, as often as their copies count.

        Args:
            total: changed in place.
            rows: the cones' rows.
            times: how often each copy counts.
            still: what a row is compared with.
            owner: to whose total the rows of each node are added, if not to the node's own.

        Shapes:
            total ``(N, C)`` or a row an owner, still ``(N, C)``, rows ``(R, C)``, times ``(copies,)``, owner ``(N,)``.
        """
        from policylearn.kernels.compiled_cones import add_changes

        often, nodes = as_array(times.to(rows.dtype)), np.arange(len(still)) if owner is None else as_array(owner)
        add_changes(total.numpy(), nodes, as_array(rows), self.node_of, self.copy_of, often, as_array(still))

    def lower(self, total: Tensor, rows: Tensor) -> None:
        """Lower each node's total to its rows where these are less, ``(N, C)`` and ``(R, C)``."""
        from policylearn.kernels.compiled_cones import lower

        lower(total.numpy(), as_array(rows), self.node_of)
