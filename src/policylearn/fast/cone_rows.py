"""The rows of marked copies that their marks can have reached."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from policylearn.fast.rows import Array, Rows, as_array


@dataclass(frozen=True)
class Cones:
    """The rows (node and copy) that marks can reach, nearest first.

    Args:
        ends: how many rows lie within each distance of their root, ``(depth + 1,)``.
        node_of: node of each row.
        copy_of: copy of each row.
        message_ptr: where the messages of each row start in ``sender``.
        sender: the row that each message comes from, -1 where its source is out of reach.

    Shapes:
        node_of, copy_of and message_ptr ``(R,)``; sender one entry per message.
    """

    ends: Array
    node_of: Array
    copy_of: Array
    message_ptr: Array
    sender: Array

    @staticmethod
    def around(rows: Rows, roots: Tensor, depth: int) -> Cones:
        """The cones of copies with these roots, ``(copies, k)``, over ``depth`` layers; `NO_PICK` is none."""
        from policylearn.fast.cone_loops import grow_cones

        return Cones(
            *grow_cones(as_array(roots), depth, rows.source_ptr, rows.outgoing_targets, rows.target_ptr, rows.source)
        )
