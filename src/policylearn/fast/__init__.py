"""Speed as a layer on top: `accelerate` swaps the layers of a model for compiled twins. Nothing below knows of it."""

from policylearn.fast.acceleration import Acceleration, accelerate, has_numba, wanted_kernels
from policylearn.fast.memory import keep_freed_memory

__all__ = ["Acceleration", "accelerate", "has_numba", "keep_freed_memory", "wanted_kernels"]
