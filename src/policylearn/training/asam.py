"""Adaptive sharpness-aware minimisation around any optimiser (Kwon et al., ICML 2021)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


class Asam(Optimizer):
    r"""Take the gradient where the loss is worst nearby, and step from where the weights are.

    .. math:: w \leftarrow w + \rho\, s^2 g / \lVert s g \rVert, \quad s = |w| + \eta

    is where the second gradient is taken; :math:`s = 1` for weights that are not scaled. Every step runs its closure
    twice, so running statistics of norms move twice.

    Args:
        base: makes the step; its groups, rates and state are those of this optimiser.
        scaled: the weights whose neighbourhood grows with them: maps, embeddings and norms' scales, but no biases.
        rho: how far to look.
        eta: added to the size of a weight.
    """

    def __init__(self, base: Optimizer, scaled: Iterable[Tensor], *, rho: float = 0.5, eta: float = 0.01) -> None:
        if rho <= 0 or eta < 0:
            raise ValueError(f"'asam_rho' must be > 0 and 'asam_eta' >= 0 (got {rho} and {eta})")
        super().__init__(base.param_groups, base.defaults)
        self.base, self.rho, self.eta = base, rho, eta
        self.scaled = {id(weight) for weight in scaled}
        self.param_groups, self.state = base.param_groups, base.state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step; ``closure`` clears the gradients, computes the loss and its gradients, and returns the loss.

        Returns the loss of the second pass.
        """
        if closure is None:
            raise ValueError("ASAM needs a closure that computes the loss and its gradients: step(closure)")
        with torch.enable_grad():
            closure()
        moved = self._climb()
        with torch.enable_grad():
            loss = closure()
        with torch.no_grad():
            for weight, before in moved:
                weight.copy_(before)
        self.base.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """That of the optimiser inside."""
        return self.base.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Into the optimiser inside."""
        self.base.load_state_dict(state_dict)
        self.param_groups, self.state = self.base.param_groups, self.base.state

    @torch.no_grad()
    def _climb(self) -> list[tuple[Tensor, Tensor]]:
        """Move the weights uphill; returns each with what it was."""
        weights = [weight for group in self.param_groups for weight in group["params"] if weight.grad is not None]
        before = [(weight, weight.clone()) for weight in weights]
        scales = [w.abs() + self.eta if id(w) in self.scaled else torch.ones_like(w) for w in weights]
        norm = sum((scale * weight.grad).square().sum() for weight, scale in zip(weights, scales, strict=True))
        size = torch.as_tensor(norm).sqrt() + 1e-16
        for weight, scale in zip(weights, scales, strict=True):
            weight.add_(scale.square() * weight.grad * (self.rho / size))
        return before


def scaled_weights(model: nn.Module) -> list[Tensor]:
    """The weights of a model that ASAM scales: those with "weight" in their name, as in the authors' code."""
    return [weight for name, weight in model.named_parameters() if "weight" in name]
