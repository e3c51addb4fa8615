"""One file per dataset, or per family, with everything about it; every file here is found by itself.

A file calls `register` with an `Entry`: name, packed file, task, metric, split, home and how its archive is unpacked,
caveats, and settings to train with. So does a file of your own, such as ``docs/examples/my_dataset.py``.

``unpack`` gets the folder of the unpacked archive and returns `PackedGraphs`; without it, ``mine.npz`` is expected in
the data root. What needs torch or RDKit is imported within ``unpack``, so that listing the datasets is quick.
"""

from policylearn.data.datasets.entry import CATALOG, Entry, Home, classes, find_entry, numbers, register, yes_no

__all__ = ["CATALOG", "Entry", "Home", "classes", "find_entry", "numbers", "register", "yes_no"]
