"""Synthetic graphs, drawn from a passed generator: CSL and unions, strongly regular, counting sets, molecule-like."""

from policylearn.data.synthetic.assembly import adjacency, join, num_components, shuffle_nodes
from policylearn.data.synthetic.counting import (
    SUBSTRUCTURES,
    count_substructures,
    counting_er,
    counting_rr,
    random_regular,
    substructure_counts,
)
from policylearn.data.synthetic.csl import csl_classes, csl_edges, csl_graph, csl_members
from policylearn.data.synthetic.molecule_like import grid, molecule_like, path
from policylearn.data.synthetic.registry import (
    SYNTHETIC,
    SyntheticDataset,
    is_synthetic,
    synthetic_dataset,
    synthetic_names,
)
from policylearn.data.synthetic.regular import (
    SRGParameters,
    complement,
    paley,
    rook,
    shrikhande,
    srg_parameters,
    triangular,
)
from policylearn.data.synthetic.unions import csl_unions, sample_unions, union_classes, union_family

__all__ = [
    "SUBSTRUCTURES",
    "SYNTHETIC",
    "SRGParameters",
    "SyntheticDataset",
    "adjacency",
    "complement",
    "count_substructures",
    "counting_er",
    "counting_rr",
    "csl_classes",
    "csl_edges",
    "csl_graph",
    "csl_members",
    "csl_unions",
    "grid",
    "is_synthetic",
    "join",
    "molecule_like",
    "num_components",
    "paley",
    "path",
    "random_regular",
    "rook",
    "sample_unions",
    "shrikhande",
    "shuffle_nodes",
    "srg_parameters",
    "substructure_counts",
    "synthetic_dataset",
    "synthetic_names",
    "triangular",
    "union_classes",
    "union_family",
]
