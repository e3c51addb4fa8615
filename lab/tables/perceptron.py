"""A peer: RDKit's descriptors and a multilayer perceptron, which tells what a graph adds to them.

Two hidden layers. Optimiser, schedule and scaling of the descriptors are taken over from an earlier trial on molesol
and FreeSolv, of which it is not recorded on what they were chosen; width and depth were set once. No setting was
changed after a score of these runs was seen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lab.tables.descriptors import Array, Mask, run

WIDTH, DROPOUT = 256, 0.1
EPOCHS, BATCH, RATE, DECAY, WARMUP, CLIP = 30, 64, 1e-3, 1e-2, 0.05, 1.0
COMPRESS_ABOVE, NEAR_CONSTANT, LIMIT = 100.0, 1e-6, 4.0


def standardise(x: Array, train: Mask) -> Array:
    """Descriptors on one scale, by what the train rows say; a missing one becomes the mean."""
    large = np.nanmax(np.abs(x[train]), axis=0, initial=0.0) > COMPRESS_ABOVE
    x = np.where(large, np.sign(x) * np.log1p(np.abs(x)), x)
    x = x[:, ~np.isnan(x[train]).all(axis=0)]
    mean, deviation = np.nanmean(x[train], axis=0), np.nanstd(x[train], axis=0)
    varied = deviation > NEAR_CONSTANT
    scaled: Array = (x[:, varied] - mean[varied]) / deviation[varied]
    return np.nan_to_num(np.clip(scaled, -LIMIT, LIMIT), nan=0.0)


def perceptron(x: Array, y: Array, train: Mask, kind: str, seed: int) -> Array:
    """Predictions of one network for every row, after the last epoch."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    centre, scale = np.zeros(y.shape[1]), np.ones(y.shape[1])
    if kind == "regression":
        centre, scale = np.nanmean(y[train], axis=0), np.nanstd(y[train], axis=0)
    inputs = torch.from_numpy(standardise(x, train)).float()
    targets = torch.from_numpy((y - centre) / scale).float()
    network = nn.Sequential(
        nn.Linear(inputs.shape[1], WIDTH), nn.ReLU(), nn.Dropout(DROPOUT),
        nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT),
        nn.Linear(WIDTH, y.shape[1]),
    )  # fmt: skip
    fit(network, inputs[train], targets[train], kind)
    with torch.no_grad():
        outputs: NDArray[Any] = network.eval()(inputs).double().numpy()
    return outputs * scale + centre


def fit(network: nn.Module, inputs: Tensor, targets: Tensor, kind: str) -> None:
    """AdamW, warm-up and cosine to zero, clipped gradients, even batches; a missing label counts nowhere."""
    batches = math.ceil(len(inputs) / BATCH)
    steps, done = EPOCHS * batches, 0
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    loss_of = nn.MSELoss() if kind == "regression" else nn.BCEWithLogitsLoss()
    network.train()
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(inputs)).tensor_split(batches):
            known = ~targets[rows].isnan()
            loss = loss_of(network(inputs[rows])[known], targets[rows][known])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), CLIP)
            warm = min(1.0, (done + 1) / (WARMUP * steps))
            optimiser.param_groups[0]["lr"] = RATE * warm * (1 + math.cos(math.pi * done / steps)) / 2
            optimiser.step()
            done += 1


if __name__ == "__main__":
    run(perceptron)
