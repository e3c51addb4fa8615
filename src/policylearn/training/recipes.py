"""Recipes: how a model is trained where the paper does not say so."""

from __future__ import annotations

from typing import Any

from policylearn.settings.run_config import RecipeName

MODERN: dict[str, Any] = {
    "optim": {
        "optimizer": "adamw",
        "learning_rate": 1e-3,
        "selection_learning_rate": 1e-3,
        "weight_decay": 1e-2,
        "eps": 1e-8,
        "schedule": "cosine",
        "warmup": 0.05,
        "gradient_clip": 1.0,
    },
    "selection": {"estimator": "reinforce"},
    "readout": "both",
}
"""AdamW, warm-up and cosine, clipped gradients, one bag per graph, and vectors that know the size of their graph."""

FOR_TABLES: dict[str, Any] = {
    "data": {"transforms": {"walk_encoding": {}, "descriptors": {}}},
    "fit": {"epochs": 30, "batch_size": 64, "keep": "last"},
    "prediction": {"layers": 3},
    "regression_heads": 4,
}
"""What a table of SMILES has besides: walk encodings of the atoms, descriptors beside the graph's vector, in regression
perceptrons that see the descriptors alone, and the last epoch's weights: its validation part is too small to choose."""


def recipe_settings(recipe: RecipeName, *, table: bool) -> dict[str, Any]:
    """The settings that a recipe lays over those of the data.

    Args:
        recipe: its name.
        table: whether the data are a table of SMILES.
    """
    if recipe == "paper":
        return {"recipe": recipe}
    return {"recipe": recipe} | MODERN | (FOR_TABLES if table else {})
