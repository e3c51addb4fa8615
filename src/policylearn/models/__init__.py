"""Whole models by name, and the protocol by which everything else knows them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
