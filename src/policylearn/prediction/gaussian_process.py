r"""A Gaussian process whose kernel is a sum of given similarities and of an RBF kernel on columns.

.. math:: k(x, x') = \sum_j a_j S_j(x, x') + b\, e^{-|d - d'|^2 / 2 \ell^2}

Amplitudes, length and noise maximise the marginal likelihood of some of the rows; the rest is linear algebra.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dtrtri
from scipy.optimize import minimize

from policylearn.data.packed import Array

ROWS = 700
"""Rows that choose the hyperparameters: the cost of a step grows with their cube."""
STEPS = 25
JITTER = 1e-8


@dataclass(frozen=True)
class Kernel:
    """A kernel with its hyperparameters: ``amplitudes`` of each similarity and last of the RBF kernel."""

    amplitudes: tuple[float, ...]
    length: float
    noise: float

    def __call__(self, similarities: Sequence[Array], distances: Array) -> Array:
        """The kernel's values, from similarities and squared distances of the same shape."""
        *linear, last = self.amplitudes
        total: Array = last * np.exp(-0.5 * distances / self.length**2)
        for amplitude, similarity in zip(linear, similarities, strict=True):
            total = total + amplitude * similarity
        return total


@dataclass(frozen=True)
class Fit:
    """A Gaussian process that has seen its rows: the prediction for new rows is the kernel's values times ``weights``.

    ``left_out`` is the prediction of each row from all others.
    """

    kernel: Kernel
    weights: Array
    left_out: Array


def fit(similarities: Sequence[Array], distances: Array, y: Array, *, seed: int = 0) -> Fit:
    """Fit a Gaussian process to standardised targets.

    Args:
        similarities: of the rows with each other, each ``(n, n)``.
        distances: squared distances of the rows' columns, ``(n, n)``.
        y: targets of mean zero and variance one, ``(n,)``.
        seed: of the choice of rows for the hyperparameters.
    """
    kernel = choose_kernel(similarities, distances, y, seed)
    covariance = kernel(similarities, distances)
    covariance[np.diag_indices_from(covariance)] += kernel.noise + JITTER
    factor = cho_factor(covariance, lower=True)
    weights = cho_solve(factor, y)
    root, _ = dtrtri(factor[0], lower=1)  # its columns' squares add up to the diagonal of the inverse
    return Fit(kernel, weights, y - weights / (np.tril(root) ** 2).sum(axis=0))


def choose_kernel(similarities: Sequence[Array], distances: Array, y: Array, seed: int) -> Kernel:
    """The hyperparameters of the largest marginal likelihood, found on some of the rows."""
    chosen = np.sort(np.random.default_rng(seed).choice(len(y), min(ROWS, len(y)), replace=False))
    part = np.ix_(chosen, chosen)
    some, apart, target = [one[part] for one in similarities], distances[part], y[chosen]
    typical = float(np.sqrt(np.median(apart[apart > 0]))) if (apart > 0).any() else 1.0
    start = np.log([0.5] * len(some) + [0.3, typical, 0.2])
    bounds = [(-8.0, 5.0)] * (len(some) + 1) + [(-3.0, 8.0), (-6.0, 2.0)]
    found = minimize(
        lambda logs: negative_likelihood(logs, some, apart, target),
        np.clip(start, *np.array(bounds).T),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": STEPS},
    )
    *amplitudes, length, noise = np.exp(found.x).tolist()
    return Kernel(tuple(amplitudes), length, noise)


def negative_likelihood(logs: Array, similarities: Sequence[Array], distances: Array, y: Array) -> tuple[float, Array]:
    """The negative log marginal likelihood and its gradient, by the logarithms of the hyperparameters."""
    *amplitudes, last, length, noise = np.exp(logs)
    rbf = last * np.exp(-0.5 * distances / length**2)
    parts = [amplitude * one for amplitude, one in zip(amplitudes, similarities, strict=True)]
    parts += [rbf, rbf * distances / length**2]
    covariance = sum(parts[:-1])
    covariance[np.diag_indices_from(covariance)] += noise + JITTER
    try:
        factor = cho_factor(covariance, lower=True)
    except LinAlgError:  # a step into nowhere; the search comes back from it
        return 1e10, np.zeros_like(logs)
    weights, inverse = cho_solve(factor, y), cho_solve(factor, np.eye(len(y)))
    value = 0.5 * y @ weights + np.log(np.diag(factor[0])).sum()
    slope = np.outer(weights, weights) - inverse
    gradient = [-0.5 * np.sum(slope * part) for part in parts] + [-0.5 * noise * np.trace(slope)]
    return float(value), np.array(gradient)


def squared_distances(a: Array, b: Array) -> Array:
    """Of the rows of two tables, ``(n, D), (m, D) -> (n, m)``."""
    far: Array = (a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * a @ b.T
    return far.clip(min=0.0)
