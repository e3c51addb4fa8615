"""The published systems, one file each; every file here is found by itself and registers what it holds."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
