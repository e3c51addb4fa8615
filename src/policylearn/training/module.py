"""One Lightning module for every task and policy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lightning
import numpy as np
import torch
from torch import Tensor
from torch.optim import Adam
from torch.optim.lr_scheduler import LambdaLR
from torch_geometric.data import Batch
from torchmetrics import Metric

from policylearn.data import Task, build_metric
from policylearn.models import GraphModel, calibrate
from policylearn.training.config import OptimConfig


class RunModule(lightning.LightningModule):
    """Trains a model on a task.

    All randomness of a step is a function of (seed, epoch, step, process), so a run that was stopped and taken up again
    goes on exactly as it would have.

    Args:
        model: what to train.
        task: loss and metric.
        optim: learning rates.
        seed: of the steps' randomness.
        calibration: training batches for exact norm statistics before each evaluation; may be empty.
        parts: the names of the evaluation loaders, in their order.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        task: Task,
        optim: OptimConfig,
        *,
        seed: int = 0,
        calibration: Iterable[Batch] = (),
        parts: tuple[str, ...] = ("valid",),
    ) -> None:
        super().__init__()
        self.model, self.task, self.optim = model, task, optim
        self.seed, self.calibration, self.parts = seed, calibration, parts
        self.metrics = torch.nn.ModuleDict({part: build_metric(task) for part in parts})
        self.loss_sum = torch.zeros((), dtype=torch.float64)
        self.loss_count = 0

    @property
    def graph_model(self) -> GraphModel:
        """The model by its protocol."""
        model: GraphModel = self.model  # type: ignore[assignment]
        return model

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """One step's loss."""
        self._reseed(self.current_epoch, batch_idx)
        step = self.graph_model.objective(batch, batch.y, self.task.loss_terms)
        self.loss_sum += step.prediction_loss.double().cpu()
        self.loss_count += 1
        return step.loss

    def on_train_epoch_start(self) -> None:
        """Begin the epoch's mean loss."""
        self.loss_sum, self.loss_count = torch.zeros((), dtype=torch.float64), 0

    def on_validation_epoch_start(self) -> None:
        """Bring the norms' statistics up to date where that is asked for."""
        if self.calibration and not self.trainer.sanity_checking:
            self._reseed(self.current_epoch, -1)
            calibrate(self.model, self.calibration)
            self.model.eval()

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Take a batch into the metric of its part."""
        self._metric(self.parts[dataloader_idx]).update(self.model(batch), batch.y)

    def on_validation_epoch_end(self) -> None:
        """Log each part's metric over all of its data, and the epoch's mean loss over all processes."""
        sums = torch.stack([self.loss_sum, torch.tensor(float(self.loss_count), dtype=torch.float64)]).to(self.device)
        gathered = self.all_gather(sums)
        assert isinstance(gathered, Tensor)
        total, count = gathered.reshape(-1, 2).sum(0)
        self.log("loss", total / count.clamp(min=1), sync_dist=False, rank_zero_only=False)
        for part in self.parts:
            metric = self._metric(part)
            self.log(part, metric.compute().to(self.device), sync_dist=False, rank_zero_only=False)
            metric.reset()

    def configure_optimizers(self) -> Any:
        """One Adam, the prediction network in its first group and the selection network in its second."""
        apart = getattr(self.model, "selection_parameters", None)
        selection = [] if apart is None else apart()
        chosen = {id(weight) for weight in selection}
        prediction = [weight for weight in self.model.parameters() if id(weight) not in chosen]
        groups: list[dict[str, Any]] = [{"params": prediction, "lr": self.optim.learning_rate}]
        if selection:
            own = self.optim.selection_learning_rate
            groups.append({"params": selection, "lr": self.optim.learning_rate if own is None else own})
        adam = Adam(groups, eps=self.optim.eps, fused=True)
        every, decay = self.optim.decay_every, self.optim.decay

        def of_prediction(epoch: int) -> float:
            return float(decay ** (epoch // every)) if every else 1.0

        scheduler = LambdaLR(adam, [of_prediction, lambda _epoch: 1.0][: len(groups)])
        return {"optimizer": adam, "lr_scheduler": scheduler}

    def _metric(self, part: str) -> Metric:
        metric = self.metrics[part]
        assert isinstance(metric, Metric)
        return metric

    def _reseed(self, epoch: int, step: int) -> None:
        words = np.random.SeedSequence([self.seed, epoch, step + 1, self.global_rank]).generate_state(1, np.uint64)
        torch.manual_seed(int(words[0]))
