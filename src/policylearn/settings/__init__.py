"""What a run is, as typed plain values: declared, read, changed, compared and written. Nothing here needs torch."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
