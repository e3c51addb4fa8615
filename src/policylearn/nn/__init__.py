"""Networks over bags, in plain PyTorch: convolutions, norms, encoders, pooling, readouts and heads."""

from policylearn.bags import Graphs, Members
from policylearn.nn.column_heads import ColumnHeads, joined
from policylearn.nn.convs import GIN, Conv, PyGConv, build_gin
from policylearn.nn.ego_labels import EgoLabels, labelled_ego_nets
from policylearn.nn.encoders import (
    Encoder,
    SingleStreamEncoder,
    SingleStreamLayer,
    StreamLayer,
    TwoStreamEncoder,
    TwoStreamLayer,
    dtype_of,
)
from policylearn.nn.features import (
    CategoricalEdges,
    EdgeEncoder,
    EdgeTerm,
    Features,
    NodeEncoder,
    RealEdges,
    build_edge_encoder,
    check_ids,
    require_edges,
)
from policylearn.nn.graph_columns import DESCRIPTORS, GraphColumns
from policylearn.nn.marked_input import MarkedInput
from policylearn.nn.mlp import MLP, NormedMLP
from policylearn.nn.networks import NetworkConfig, single_stream_encoder, two_stream_encoder
from policylearn.nn.norms import NoNorm, RowBatchNorm, RowLayerNorm, RowNorm, build_norm
from policylearn.nn.one_hot import edge_numbers, edge_width, node_numbers, node_width, one_hot
from policylearn.nn.pooling import CopyPool, Pooled
from policylearn.nn.published_gins import GINForm, NormedGIN, published_gin
from policylearn.nn.readouts import CopiesThenNodes, NodesThenCopies, Readout, StreamingReadout
from policylearn.nn.scope import Scope, can_be_cut, copies_are_independent, depends_on_batch, mixes_rows, scope_of
from policylearn.nn.segments import (
    group_mean,
    segment_argmax,
    segment_log_softmax,
    segment_max,
    segment_mean,
    segment_min,
    segment_sum,
)
from policylearn.nn.sums import collect, gather, gin_sum, gine_sum, neighbour_sum

__all__ = [
    "DESCRIPTORS",
    "GIN",
    "MLP",
    "CategoricalEdges",
    "ColumnHeads",
    "Conv",
    "CopiesThenNodes",
    "CopyPool",
    "EdgeEncoder",
    "EdgeTerm",
    "EgoLabels",
    "Encoder",
    "Features",
    "GINForm",
    "GraphColumns",
    "Graphs",
    "MarkedInput",
    "Members",
    "NetworkConfig",
    "NoNorm",
    "NodeEncoder",
    "NodesThenCopies",
    "NormedGIN",
    "NormedMLP",
    "Pooled",
    "PyGConv",
    "Readout",
    "RealEdges",
    "RowBatchNorm",
    "RowLayerNorm",
    "RowNorm",
    "Scope",
    "SingleStreamEncoder",
    "SingleStreamLayer",
    "StreamLayer",
    "StreamingReadout",
    "TwoStreamEncoder",
    "TwoStreamLayer",
    "build_edge_encoder",
    "build_gin",
    "build_norm",
    "can_be_cut",
    "check_ids",
    "collect",
    "copies_are_independent",
    "depends_on_batch",
    "dtype_of",
    "edge_numbers",
    "edge_width",
    "gather",
    "gin_sum",
    "gine_sum",
    "group_mean",
    "joined",
    "labelled_ego_nets",
    "mixes_rows",
    "neighbour_sum",
    "node_numbers",
    "node_width",
    "one_hot",
    "published_gin",
    "require_edges",
    "scope_of",
    "segment_argmax",
    "segment_log_softmax",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
    "single_stream_encoder",
    "two_stream_encoder",
]
