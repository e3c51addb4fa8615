"""Networks over bags, in plain PyTorch: convolutions, norms, encoders, pooling, readouts and heads."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
