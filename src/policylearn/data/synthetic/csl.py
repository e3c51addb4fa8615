"""Circular skip link graphs: a cycle of n nodes with a link from every node to the one k steps on."""

from __future__ import annotations

from math import gcd

import numpy as np

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.synthetic.assembly import join, one_graph


def csl_edges(n: int, k: int) -> Array:
    """Undirected edges of CSL(n, k): the cycle first, then the skip links.

    Args:
        n: nodes on the cycle.
        k: length of a skip, coprime with n, so the skip links form one cycle too.

    Shapes:
        result ``(2, 2n)``.
    """
    if not 2 <= k < n - 1 or gcd(n, k) != 1:
        usable = [skip for skip in range(2, n - 1) if gcd(n, skip) == 1]
        remedy = f"use one of {usable}" if usable else "no k is possible here, use another n such as 5, 7 or a prime"
        raise DataError(f"CSL({n}, {k}): k must be coprime with n and 2 <= k < n - 1 (got n={n}, k={k}); {remedy}")
    nodes = np.arange(n)
    return np.stack([np.tile(nodes, 2), np.concatenate([(nodes + 1) % n, (nodes + k) % n])])


def csl_graph(n: int, k: int) -> PackedGraphs:
    """CSL(n, k) as one packed graph, 4-regular and connected."""
    return one_graph(csl_edges(n, k), n)


def csl_classes(n: int) -> tuple[int, ...]:
    """The smallest k of each isomorphism class of CSL(n, k), rising.

    CSL(n, k) joins nodes that differ by 1 or by k, in either direction. Multiplying every node by a unit u of the
    integers mod n gives an isomorphic graph with the differences u and uk; these are 1 and k' again only if k' is
    k, -k or the inverse of one of the two. So a class is {k, -k, 1/k, -1/k}.

    Args:
        n: nodes of the graph. There are 3, 4 and 7 classes for n = 13, 17 and 29.
    """
    units = [k for k in range(2, n - 1) if gcd(n, k) == 1]
    return tuple(sorted({min(k, n - k, pow(k, -1, n), n - pow(k, -1, n)) for k in units}))


def csl_members(n: int) -> PackedGraphs:
    """One graph of each isomorphism class of CSL(n, k), in the order of `csl_classes`; ``y`` is the class."""
    classes = csl_classes(n)
    if not classes:
        raise DataError(f"there is no CSL(n, k) with n={n}: no k in 2..n-2 is coprime with n; use a prime n >= 5")
    return join([csl_graph(n, k) for k in classes], y=np.arange(len(classes)))
