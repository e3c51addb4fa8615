"""Two peers that see nothing but RDKit's 2-D descriptors: gradient boosting, and a multilayer perceptron.

Run by `peers` in the environment of `benchmarks/peers-requirements.txt`, one process per run:
``python descriptors.py boosting|mlp TABLE KIND SEED FOLDER``; writes ``FOLDER/val.csv`` and ``FOLDER/test.csv``, one
row of predictions per molecule, in the order of the table.

- boosting: scikit-learn's HistGradientBoosting with its defaults, one model per target, fitted on the train rows. It
  draws nothing at random here, so on one split all seeds agree.
- mlp: two hidden layers under the recipe that policylearn uses for tables, so it tells what the descriptors and the
  recipe give without a graph. Its settings were fixed before any score was seen.
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import Descriptors
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from torch import Tensor, nn

Array = NDArray[np.float64]

WIDTH, DROPOUT = 256, 0.1
EPOCHS, BATCH, RATE, DECAY, WARMUP, CLIP = 30, 64, 1e-3, 1e-2, 0.05, 1.0
COMPRESS_ABOVE, NEAR_CONSTANT, LIMIT = 100.0, 1e-6, 4.0


def describe(smiles: list[str]) -> Array:
    """All descriptors of all molecules; one that RDKit cannot compute, or that overflows, is NaN.

    Shapes:
        ``(rows, descriptors)``.
    """
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    table = [Descriptors.CalcMolDescriptors(molecule, missingVal=math.nan) for molecule in molecules]  # type: ignore[no-untyped-call]
    values = np.array([list(row.values()) for row in table], dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def boost(x: Array, y: Array, train: NDArray[np.bool_], kind: str, seed: int) -> Array:
    """Predictions of one model per target for every row."""
    columns = []
    for target in y.T:
        rows = train & ~np.isnan(target)
        if kind == "regression":
            columns.append(HistGradientBoostingRegressor(random_state=seed).fit(x[rows], target[rows]).predict(x))
        else:
            classifier = HistGradientBoostingClassifier(random_state=seed).fit(x[rows], target[rows])
            columns.append(classifier.predict_proba(x)[:, 1])
    return np.stack(columns, axis=1)


def standardise(x: Array, train: NDArray[np.bool_]) -> Array:
    """Descriptors on one scale, by what the train rows say; a missing one becomes the mean."""
    large = np.nanmax(np.abs(x[train]), axis=0, initial=0.0) > COMPRESS_ABOVE
    x = np.where(large, np.sign(x) * np.log1p(np.abs(x)), x)
    x = x[:, ~np.isnan(x[train]).all(axis=0)]
    mean, deviation = np.nanmean(x[train], axis=0), np.nanstd(x[train], axis=0)
    varied = deviation > NEAR_CONSTANT
    scaled: Array = (x[:, varied] - mean[varied]) / deviation[varied]
    return np.nan_to_num(np.clip(scaled, -LIMIT, LIMIT), nan=0.0)


def perceptron(x: Array, y: Array, train: NDArray[np.bool_], kind: str, seed: int) -> Array:
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


PEERS = {"boosting": boost, "mlp": perceptron}


def main() -> None:
    """Fit one peer on one table and write what it predicts."""
    peer, table, kind, seed, folder = sys.argv[1:]
    with Path(table).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name not in ("smiles", "split")]
    split = np.array([row["split"] for row in rows])
    y = np.array([[float(row[name] or "nan") for name in names] for row in rows])
    predicted = PEERS[peer](describe([row["smiles"] for row in rows]), y, split == "train", kind, int(seed))
    for part in ("val", "test"):
        np.savetxt(Path(folder) / f"{part}.csv", predicted[split == part], delimiter=",", header=",".join(names))


if __name__ == "__main__":
    main()
