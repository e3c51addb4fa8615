"""Speed as a layer on top: `accelerate` swaps the layers of a model for compiled twins. Nothing below knows of it."""

from policylearn.fast.acceleration import Acceleration, accelerate, wanted_kernels
from policylearn.fast.memory import keep_freed_memory

__all__ = ["Acceleration", "accelerate", "keep_freed_memory", "wanted_kernels"]
