"""Neighbour sums over one adjacency that all copies share, and whole layers and cones of marks for the CPU."""

from policylearn.bags import Adjacency
from policylearn.kernels.arrays import as_array, empty_rows, zero_rows
from policylearn.kernels.backends import Backend, has_numba, product_source, use_compiled, use_kernels, wanted_backend
from policylearn.kernels.cones import Cones
from policylearn.kernels.fused import gin_sum, gine_sum
from policylearn.kernels.inference import (
    FixedHalf,
    FixedLayer,
    States,
    fixed_mlp,
    marked_rows,
    message_arrays,
    unmarked_states,
)
from policylearn.kernels.layers import LayerSpec, StreamWeights, two_stream_layer
from policylearn.kernels.layout import Layout
from policylearn.kernels.mlps import Affine, FusedNorm, gin_mlp
from policylearn.kernels.sums import collect, gather, neighbour_sum
from policylearn.kernels.threads import Piece, Pieces, own_threads
from policylearn.kernels.widths import check_edges

__all__ = [
    "Adjacency",
    "Affine",
    "Backend",
    "Cones",
    "FixedHalf",
    "FixedLayer",
    "FusedNorm",
    "LayerSpec",
    "Layout",
    "Piece",
    "Pieces",
    "States",
    "StreamWeights",
    "as_array",
    "check_edges",
    "collect",
    "empty_rows",
    "fixed_mlp",
    "gather",
    "gin_mlp",
    "gin_sum",
    "gine_sum",
    "has_numba",
    "marked_rows",
    "message_arrays",
    "neighbour_sum",
    "own_threads",
    "product_source",
    "two_stream_layer",
    "unmarked_states",
    "use_compiled",
    "use_kernels",
    "wanted_backend",
    "zero_rows",
]
