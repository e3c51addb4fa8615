"""When the host may look at a tensor's values."""

from __future__ import annotations

import torch
from torch import Tensor


def may_read(tensor: Tensor) -> bool:
    """Whether looking at values costs no wait: elsewhere than on the CPU, the host waits until all work is done.

    So input is checked on the CPU alone: what `policylearn.data` loads was checked when it was read.
    """
    return tensor.device.type == "cpu"


def count_ids(ids: Tensor, size: int) -> Tensor:
    """How often each of ``size`` ids occurs, ``(R,) -> (size,)``; ``bincount`` makes a GPU wait to know the largest."""
    if may_read(ids):
        return torch.bincount(ids, minlength=size)
    return ids.new_zeros(size).scatter_add(0, ids, torch.ones_like(ids))
