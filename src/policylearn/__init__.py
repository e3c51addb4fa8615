"""Subgraph GNNs made cheap: learn which few marked copies of a graph to look at, and predict from those."""

from importlib.metadata import version

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = version("policylearn")
