"""Networks over bags: encoders, norms, pooling, readouts and heads."""

from policylearn.nn.cone_view import ConeView
from policylearn.nn.cones import ConeInference
from policylearn.nn.convs import GIN, Conv, PyGConv
from policylearn.nn.encoders import (
    Encoder,
    SingleStreamEncoder,
    SingleStreamLayer,
    StreamLayer,
    TwoStreamEncoder,
    TwoStreamLayer,
    first_weight,
    is_compiled,
)
from policylearn.nn.features import (
    CategoricalEdges,
    CategoricalEncoder,
    ConstantEncoder,
    Features,
    RealEdges,
    RealEncoder,
    build_edge_encoder,
    build_node_encoder,
)
from policylearn.nn.graphs import Graphs, Members, rows_of
from policylearn.nn.norms import (
    NoNorm,
    NormKind,
    NormScope,
    RowBatchNorm,
    RowLayerNorm,
    RowNorm,
    build_norm,
    mixes_rows,
)
from policylearn.nn.pooling import MLP, GraphReadout, NodePooling, NodeReadout, SlotPool, SlotPooling
from policylearn.nn.segments import segment_argmax, segment_log_softmax, segment_max, segment_mean, segment_sum

__all__ = [
    "GIN",
    "MLP",
    "CategoricalEdges",
    "CategoricalEncoder",
    "ConeInference",
    "ConeView",
    "ConstantEncoder",
    "Conv",
    "Encoder",
    "Features",
    "GraphReadout",
    "Graphs",
    "Members",
    "NoNorm",
    "NodePooling",
    "NodeReadout",
    "NormKind",
    "NormScope",
    "PyGConv",
    "RealEdges",
    "RealEncoder",
    "RowBatchNorm",
    "RowLayerNorm",
    "RowNorm",
    "SingleStreamEncoder",
    "SingleStreamLayer",
    "SlotPool",
    "SlotPooling",
    "StreamLayer",
    "TwoStreamEncoder",
    "TwoStreamLayer",
    "build_edge_encoder",
    "build_node_encoder",
    "build_norm",
    "first_weight",
    "is_compiled",
    "mixes_rows",
    "rows_of",
    "segment_argmax",
    "segment_log_softmax",
    "segment_max",
    "segment_mean",
    "segment_sum",
]
