"""Neighbour sums over one adjacency that all copies of a graph share."""

from policylearn.kernels.adjacency import Adjacency
from policylearn.kernels.backends import Backend, has_numba, use_kernels, wanted_backend
from policylearn.kernels.fused import gin_sum, gine_sum
from policylearn.kernels.layout import Layout
from policylearn.kernels.sums import collect, gather, neighbour_sum

__all__ = [
    "Adjacency",
    "Backend",
    "Layout",
    "collect",
    "gather",
    "gin_sum",
    "gine_sum",
    "has_numba",
    "neighbour_sum",
    "use_kernels",
    "wanted_backend",
]
