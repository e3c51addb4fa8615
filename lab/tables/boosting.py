"""A peer: RDKit's descriptors and scikit-learn's HistGradientBoosting with its defaults.

One model per target, fitted on the train rows. It draws nothing at random here, so on one split all seeds agree.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from lab.tables.descriptors import Array, Mask, run


def boost(x: Array, y: Array, train: Mask, kind: str, seed: int) -> Array:
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


if __name__ == "__main__":
    run(boost)
