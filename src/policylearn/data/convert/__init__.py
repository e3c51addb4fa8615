"""Converters into the packed form: OGB and TUDataset folders, PyG data, networkx graphs, tables of SMILES."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
