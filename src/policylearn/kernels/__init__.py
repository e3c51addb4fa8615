"""Neighbour sums over one adjacency that all copies of a graph share."""

from policylearn.kernels.adjacency import Adjacency
from policylearn.kernels.backends import Backend, has_numba, use_compiled, use_kernels, wanted_backend
from policylearn.kernels.fused import gin_sum, gine_sum
from policylearn.kernels.halves import Affine
from policylearn.kernels.layers import LayerSpec, StreamWeights, two_stream_layer
from policylearn.kernels.layout import Layout
from policylearn.kernels.norms import FusedNorm, linear_norm_relu
from policylearn.kernels.sums import collect, gather, neighbour_sum

__all__ = [
    "Adjacency",
    "Affine",
    "Backend",
    "FusedNorm",
    "LayerSpec",
    "Layout",
    "StreamWeights",
    "collect",
    "gather",
    "gin_sum",
    "gine_sum",
    "has_numba",
    "linear_norm_relu",
    "neighbour_sum",
    "two_stream_layer",
    "use_compiled",
    "use_kernels",
    "wanted_backend",
]
