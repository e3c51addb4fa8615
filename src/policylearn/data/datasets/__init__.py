"""One file per dataset, or per family, with everything about it; every file here is found by itself.

A file calls `register` with an `Entry`: name, packed file, task, metric, split, home and how its archive is unpacked,
caveats, and settings to train with. The same works in a file of your own that is imported before the name is used::

    register(Entry(name="mine", file="mine.npz", title="my molecules", graphs=500, nodes=None, edges=None,
                   task=numbers("rmse", "logP"), protocol="official", split="by year",
                   home=Home(archive="https://example.org/mine.zip", credit="me", unpack=unpack, folder="mine"),
                   presets={"learned": {"prediction": {"channels": 64}}}))

``unpack`` gets the folder of the unpacked archive and returns `PackedGraphs`; without it, ``mine.npz`` is expected in
the data root. What needs torch or RDKit is imported within ``unpack``, so that listing the datasets is quick.
"""

import importlib
import pkgutil

from policylearn.data.datasets.entry import Entry, Home, classes, numbers, yes_no
from policylearn.data.datasets.registry import CATALOG, find_entry, register

# In the order of the tables of the paper; files that are not named here come last.
_ORDER = ("zinc", "ogb_molecules", "reddit_binary", "alchemy", "csl", "exp", "sr25", "counting")
for _name in (*_ORDER, *(module.name for module in pkgutil.iter_modules(__path__))):
    importlib.import_module(f"{__name__}.{_name}")

__all__ = [
    "CATALOG",
    "Entry",
    "Home",
    "classes",
    "find_entry",
    "numbers",
    "register",
    "yes_no",
]
