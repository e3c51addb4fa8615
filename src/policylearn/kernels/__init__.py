"""Neighbour sums over one adjacency that all copies of a graph share."""

from policylearn.kernels.adjacency import Adjacency
from policylearn.kernels.sums import collect, gather, neighbour_sum

__all__ = ["Adjacency", "collect", "gather", "neighbour_sum"]
