"""Answers of a trained model: for graphs in memory, and for tables and packed files of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
