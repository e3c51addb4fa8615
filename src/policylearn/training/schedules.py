"""How learning rates rise and fall over the steps of a training."""

from __future__ import annotations

import math
from collections.abc import Callable


def warmup_cosine(steps: int, warmup: float) -> Callable[[int], float]:
    """What the learning rate is multiplied by at each step: it rises over a share of the steps, then falls to zero."""
    rising = max(1, round(warmup * steps))

    def rate(step: int) -> float:
        if step < rising:
            return (step + 1) / rising
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - rising) / max(1, steps - rising))))

    return rate
