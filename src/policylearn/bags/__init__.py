"""Which copies of a graph are looked at: the batch, the picks, and the copies that they stand for."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
