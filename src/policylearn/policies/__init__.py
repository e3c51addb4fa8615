"""Policies: which nodes of a graph to mark, and how the picks learn. One protocol, so that any callable can be one."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
