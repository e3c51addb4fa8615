"""How the gradient reaches a choice that was drawn, one file per way."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
