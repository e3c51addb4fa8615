"""Train with the workers of a Ray cluster: Ray Train starts them, and starts them again where one is lost."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from policylearn.settings.run_config import RunConfig
from policylearn.settings.run_files import RunError
from policylearn.training.data_source import load_source
from policylearn.training.ensemble import train_ensemble
from policylearn.training.folds import train
from policylearn.training.ray_cluster import ray_cluster, ray_cores
from policylearn.training.run_folder import check_folder
from policylearn.training.runs import with_absolute_data

MOST_FAILURES = 3
"""How often a training is continued after a worker was lost."""


def train_on_ray(config: RunConfig, folder: str | Path, *, members: int = 1, resume: bool = False) -> None:
    """Train as `train` (or `train_ensemble`) does, in ``fit.devices`` processes anywhere in a cluster.

    Data and folder must be seen by all. A worker that is lost makes Ray Train start all of them again, and they
    continue from the last checkpoint.
    """
    folder, workers = Path(folder).resolve(), config.fit.devices
    check_folder(folder, resume=resume)
    with ray_cluster() as ray:
        cores = ray_cores(ray)
        if workers > cores:
            raise RunError(f"'fit.devices' is {workers}, and the Ray cluster has {cores} cores; lower --devices")
        from ray.train import FailureConfig, ScalingConfig
        from ray.train import RunConfig as RayRun
        from ray.train.torch import TorchTrainer

        own = with_absolute_data(config).replace(fit=config.fit.replace(devices=1))  # Ray decides on the processes
        with tempfile.TemporaryDirectory() as notes:  # of Ray Train; ours are in the run folder
            TorchTrainer(
                train_in_worker,
                train_loop_config={"config": own, "folder": folder, "members": members},
                scaling_config=ScalingConfig(num_workers=workers, use_gpu=config.fit.accelerator == "gpu"),
                run_config=RayRun(storage_path=notes, failure_config=FailureConfig(max_failures=MOST_FAILURES)),
            ).fit()


def train_in_worker(job: dict[str, Any]) -> None:
    """What each worker does; the first of them writes the run folder."""
    config, folder = job["config"], job["folder"]
    source = load_source(config.data)
    if job["members"] > 1:
        train_ensemble(config, source, folder, job["members"], resume=True)
    else:
        train(config, source, folder, resume=True)
