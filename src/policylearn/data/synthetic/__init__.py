"""Synthetic graphs, drawn from a passed generator: CSL and unions, strongly regular, counting sets, molecule-like."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
