"""Subgraph GNNs made cheap: learn which few marked copies of a graph to look at, and predict from those."""

from importlib.metadata import version

__version__ = version("policylearn")
