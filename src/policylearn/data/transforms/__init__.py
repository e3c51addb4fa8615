"""Transforms: structures computed from graphs. `base` says how to write one; a name imports its file."""

from policylearn.data.transforms.base import TRANSFORMS, Transform, add_structures, register
from policylearn.data.transforms.pipeline import Progress, apply, fit_apply, transform_cache

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
