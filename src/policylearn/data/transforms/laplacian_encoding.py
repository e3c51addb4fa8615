"""Eigenvectors of the Laplacian as an encoding of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.structures import REAL_COLUMNS
from policylearn.data.transforms.base import Structures, Transform, columns_of_nodes, register
from policylearn.data.transforms.dense import DenseGroup, per_node

TIE = 1e-6


@register
@dataclass(frozen=True)
class LaplacianEncoding(Transform):
    r"""The eigenvectors 2 to k + 1 of :math:`I - D^{-1/2} A D^{-1/2}`, by rising eigenvalue, each of length 1.

    The edges are taken without direction and once each. A graph with fewer than k + 1 nodes has zeros in the columns
    that it lacks. An eigenvector is only known up to its sign: here its largest entry by size is positive, and the
    lowest node id decides between equals. That rule, and repeated eigenvalues altogether, depend on the order of the
    nodes; a network that is to be indifferent to it flips the signs of the columns at random in training.

    Args:
        k: how many eigenvectors.
        into: the structure that gets them.
    """

    name: ClassVar[str] = "laplacian_encoding"
    version: ClassVar[int] = 2
    k: int = 4
    into: str = REAL_COLUMNS

    def __post_init__(self) -> None:
        if self.k < 1:
            raise DataError(f"laplacian_encoding: 'k' must be >= 1 (got {self.k})")

    def compute(self, graphs: PackedGraphs) -> Structures:
        """One column per eigenvector, ``(N, k)``."""
        # Which vectors stand for a repeated eigenvalue is the solver's choice, and padding would sway it: a symmetric
        # molecule would then have another encoding, and another prediction, in other company.
        return columns_of_nodes(per_node(graphs, self.k, self._vectors, padded=False), self.into)

    def _vectors(self, group: DenseGroup) -> Array:
        edges = ((group.adjacency + group.adjacency.transpose(0, 2, 1)) > 0).astype(np.float64)
        size = edges.shape[-1]
        degree = edges.sum(-1)
        scale = np.where(degree > 0, 1.0 / np.sqrt(np.maximum(degree, 1.0)), 0.0)
        laplacian = np.eye(size) - scale[:, :, None] * edges * scale[:, None, :]
        _, vectors = np.linalg.eigh(laplacian)  # (g, m, m), columns by rising eigenvalue
        chosen = np.zeros((*edges.shape[:2], self.k))
        kept = min(self.k, size - 1)
        chosen[..., :kept] = vectors[..., 1 : kept + 1]
        return chosen * _signs(chosen)


def _signs(vectors: Array) -> Array:
    """+1 or -1 for each column, so that its largest entry, among equals the first, becomes positive."""
    sizes = np.abs(vectors)
    largest = sizes.max(axis=1, keepdims=True)
    first = (sizes >= largest * (1 - TIE)).argmax(axis=1, keepdims=True)
    return np.where(np.take_along_axis(vectors, first, axis=1) < 0, -1.0, 1.0)
