"""What a training needs of the machine, looked at before it begins."""

from __future__ import annotations

from dataclasses import replace

import torch

from policylearn.data import Dataset
from policylearn.settings.run_config import POLICY, FitConfig, RunConfig
from policylearn.settings.run_files import RunError
from policylearn.training.processes import launched, note


def check_device(settings: FitConfig) -> None:
    """Raise where a run asks for GPUs that are not here."""
    launch = launched()
    if launch is not None and settings.devices not in (1, launch.local):
        raise RunError(
            f"'fit.devices' is {settings.devices}, and {launch.local} processes were started on this machine; leave"
            " --devices out: the launcher has decided"
        )
    if settings.accelerator != "gpu":
        return
    there = torch.cuda.device_count() or int(torch.backends.mps.is_available())
    wanted = settings.devices if launch is None else launch.local
    if there < wanted:
        raise RunError(
            f"'fit.accelerator' is gpu with fit.devices {wanted}, and there are {there} GPUs that torch can"
            " use; use --accelerator cpu, or ask for fewer with --devices"
        )


def with_possible_picks(config: RunConfig, dataset: Dataset) -> RunConfig:
    """The configuration with no more picks than the largest graph has nodes, since no graph could take them."""
    largest = int(dataset.graphs.num_nodes.max())
    selection = config.selection
    if config.model != POLICY or not selection.counts_picks or selection.picks <= largest:
        return config
    note(
        f"T = {selection.picks} picks are more than any graph has nodes; T = {largest} is used, the nodes of the"
        " largest graph"
    )
    return replace(config, selection=replace(selection, picks=largest))
