"""The mlp of a GIN with layer norms, piece by piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from policylearn.kernels.mlp_base import MLP, Phase
from policylearn.kernels.threads import Piece


class LayerMLP(MLP):
    """With layer norms, which know each row alone."""

    def forward(self, residual: Any, out: Tensor) -> list[Phase]:
        """The phases that fill ``out``, ``(R, C)``."""
        from policylearn.kernels.compiled_mlps import layer_forward

        self.memory = np.empty((2, 2, len(self.x)), self.dtype)  # mean and inverse deviation of each row
        result = out.numpy()

        def work(piece: Piece) -> None:
            at = piece.rows
            layer_forward(
                self.gemm, self.x[at], self.one, self.two, self.eps, residual[at], self.mapped[at], self.mapped_two[at],
                self.memory[0][:, at], self.memory[1][:, at], result[at],
            )  # fmt: skip

        return [(work, None)]

    def found(self) -> Tensor:
        """Nothing that would be of use later."""
        return torch.empty(0)

    def backward(self, gradient: Tensor) -> list[Phase]:
        """The phases that fill ``to_x`` and the weights' gradients."""
        from policylearn.kernels.compiled_mlps import layer_backward

        incoming, to_x = self.begin_back(gradient), self.to_x.numpy()
        self.sums = self.room(3)

        def work(piece: Piece) -> None:
            at, thread = piece.rows, piece.thread
            layer_backward(
                self.gemm, incoming[at], self.x[at], self.one, self.two, self.eps, self.mapped[at],
                self.mapped_two[at], self.memory[0][:, at], self.memory[1][:, at], to_x[at],
                self.to_weights[0][thread], self.to_weights[1][thread], self.sums[0, thread], self.sums[1, thread],
            )  # fmt: skip

        return [(work, None)]

    def vectors(self) -> Any:
        """See `MLP`."""
        return self.sums.sum(axis=1)
