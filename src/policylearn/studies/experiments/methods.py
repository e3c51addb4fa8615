"""The methods that the paper compares; those without a policy are not implemented and are shown as such."""

from __future__ import annotations

from policylearn.studies.experiments.declaration import Method

GIN = Method("GIN", "gin", "none")
GCN = Method("GCN", "gcn", "none", (("prediction.conv", "gcn"),))
FULL = Method("Full", "full", "full")
RANDOM = Method("Random", "random", "random")
LEARNED = Method("Policy-learn", "learned", "learned")

PNA = Method("PNA", "pna")
GSN = Method("GSN", "gsn")
SIN = Method("SIN", "sin")
CIN = Method("CIN", "cin")
GIN_ENCODINGS = Method("GIN + RWSE & LapPE", "gin-rwse-lappe")
RECONSTRUCTION = Method("Reconstr. GNN", "reconstruction-gnn")
NGNN = Method("NGNN", "ngnn")
DS_GNN = Method("DS-GNN (EGO+)", "ds-gnn")
DSS_GNN = Method("DSS-GNN (EGO+)", "dss-gnn")
GNN_AK = Method("GNN-AK", "gnn-ak")
GNN_AK_PLUS = Method("GNN-AK+", "gnn-ak-plus")
SUN = Method("SUN (EGO+)", "sun")
GNN_SSWL = Method("GNN-SSWL", "gnn-sswl")
GNN_SSWL_PLUS = Method("GNN-SSWL+", "gnn-sswl-plus")
OSAN = Method("OSAN", "osan")
RANDOM_OSAN = Method("Random-OSAN", "random-osan")
RANDOM_DS_GNN = Method("Random DS-GNN", "random-ds-gnn")
RANDOM_DSS_GNN = Method("Random DSS-GNN", "random-dss-gnn")
