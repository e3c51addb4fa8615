"""Configurations that earlier versions wrote, in today's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policylearn.settings.schema import POLICY_LEARN, ConfigError

OLD_NAME = "policy"
OF_POLICIES = (
    "prediction", "selection", "pooling", "readout", "order", "bag", "descriptor_dropout", "regression_heads",
)  # fmt: skip
"""Settings of Policy-learn that every configuration held, whatever its model."""
OF_POLICY: dict[str, tuple[str, ...]] = {
    "learned": (
        "picks", "network", "mode", "norm", "estimator", "node_dropout", "mask_selected", "add_graph_mean", "pooling",
    ),
    "random": ("picks", "mask_selected", "seed"),
    "degree": ("picks",),
    "centrality": ("picks",),
    "full": (),
    "none": (),
}  # fmt: skip
"""Settings of the selection that each policy read; all of them were written."""
OF_ESTIMATOR = {"straight_through": {"tau": "tau"}, "gapped": {"tau": "tau"}, "imle": {"imle_strength": "strength"}}
REMOVED = {"shared": False, "marks_per_copy": 1, "prior": None, "stop_below": None}
"""Options that are gone, with the value at which they did nothing."""
REMOVED_FROM_FIT = ("check_memory",)
"""Settings of 0.2 that did nothing to a run."""
REPLACED = {"rloo": "reinforce", "gapped": "straight_through"}
"""Estimators that are gone; they play no part in a prediction."""


def upgraded(content: Mapping[str, Any], *, estimator: bool = False) -> dict[str, Any]:
    """A configuration file's content in today's form.

    With ``estimator``, one that was removed is replaced: a run that predicts needs none.
    """
    found = without_removed(content)
    if "selection" not in found and found.get("model", OLD_NAME) != OLD_NAME:
        return found
    if found.get("model", OLD_NAME) != OLD_NAME:
        return {key: value for key, value in found.items() if key not in OF_POLICIES}
    found["model"] = POLICY_LEARN
    if not found.pop("system", None):
        found["selection"] = _selection(found.get("selection", {}), estimator)
    bag = dict(found.get("bag", {}))
    if bag.get("rule", "mark") != "ego":
        bag.pop("hops", None)
    return found | {"bag": bag}


def without_removed(content: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration without settings that are gone and changed nothing about a run."""
    fit = content.get("fit")
    if not isinstance(fit, Mapping):
        return dict(content)
    return {**content, "fit": {key: value for key, value in fit.items() if key not in REMOVED_FROM_FIT}}


def _selection(selection: Mapping[str, Any], replace_estimator: bool) -> dict[str, Any]:
    name = selection.get("name", "learned")
    kept = {key: selection[key] for key in OF_POLICY.get(name, tuple(selection)) if key in selection}
    used = {key: selection[key] for key, value in REMOVED.items() if selection.get(key, value) != value}
    if used and replace_estimator:
        raise ConfigError(f"'selection.{min(used)}' is gone since 0.2.0; load the run with the version that wrote it")
    if name == "learned":
        estimator = kept.get("estimator", "reinforce")
        named = OF_ESTIMATOR.get(estimator, {})
        kept |= {new: selection[old] for old, new in named.items() if old in selection}
        kept["estimator"] = REPLACED.get(estimator, estimator) if replace_estimator else estimator
    return {"name": name, **kept, **used}
