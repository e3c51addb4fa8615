"""Compiled loops do not look at sizes and would read what lies behind an array: what does not fit is refused before."""

from __future__ import annotations

from torch import Tensor

from policylearn.bags import Adjacency


def check_mlp(inputs: int, first: Tensor, second: Tensor, added: int | None) -> None:
    """Raise a `ValueError` where two maps, one after the other, do not fit what goes in or is added.

    Args:
        inputs: channels that go in.
        first: weight of the first map.
        second: weight of the second map.
        added: channels of the residual; None without one.

    Shapes:
        weights ``(C_out, C_in)``.
    """
    for place, weight, width in (("first", first, inputs), ("second", second, len(first))):
        if weight.shape[1] != width:
            raise ValueError(
                f"the {place} map of an mlp reads {weight.shape[1]} channels, but is given {width};"
                f" build it with {width} inputs"
            )
    if added is not None and added != len(second):
        raise ValueError(
            f"a residual of {added} channels is added to an output of {len(second)};"
            " build the layer with as many outputs as inputs, or with residual=False"
        )


def check_edges(adjacency: Adjacency, values: Tensor, width: int, *, shared: bool) -> None:
    """Raise a `ValueError` where the edges' vectors do not fit the states that they are added to, or the edges.

    Args:
        adjacency: the edges.
        values: rows of a table, or one a column of ``edge_index``, ``(K, C)``.
        width: C of the states.
        shared: whether they are rows of a table.
    """
    if values.shape[1] != width:
        raise ValueError(
            f"edge vectors of {values.shape[1]} channels are added to states of {width};"
            f" build the edge encoder with {width} channels"
        )
    if not shared and len(values) != adjacency.num_edges:
        raise ValueError(
            f"there are {len(values)} edge vectors for {adjacency.num_edges} edges;"
            " 'edge_attr' needs a row for each column of 'edge_index'"
        )
