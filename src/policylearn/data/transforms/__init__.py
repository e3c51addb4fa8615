"""Transforms: structures computed from graphs. `base` says how to write one; every file here is found by itself."""

import importlib
import pkgutil

from policylearn.data.transforms.base import TRANSFORMS, Transform, add_structures, register
from policylearn.data.transforms.pipeline import Progress, apply, fit_apply, transform_cache

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "TRANSFORMS",
    "Progress",
    "Transform",
    "add_structures",
    "apply",
    "fit_apply",
    "register",
    "transform_cache",
]
