"""One Lightning module for every task and policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

import lightning
import numpy as np
import torch
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau
from torch_geometric.data import Batch
from torchmetrics import Metric

from policylearn.data import Task, build_metric
from policylearn.models import GraphModel, calibrate
from policylearn.settings.run_config import OptimConfig
from policylearn.training.asam import Asam, scaled_weights
from policylearn.training.evaluation import scored


class RunModule(lightning.LightningModule):
    """Trains a model on a task.

    All randomness of a step is a function of (seed, epoch, step, process), so a run that was stopped and resumed
    continues exactly as it would have.

    Args:
        model: what to train.
        task: loss and metric.
        optim: learning rates.
        seed: of the steps' randomness.
        calibration: training batches for exact norm statistics before each evaluation; may be empty.
        parts: the names of the evaluation loaders, in their order.
        graphs: how many graphs the data have, whose past costs are remembered for a policy that learns from them; 0
            remembers none.
    """

    past_costs: Tensor

    def __init__(
        self,
        model: torch.nn.Module,
        task: Task,
        optim: OptimConfig,
        *,
        seed: int = 0,
        calibration: Iterable[Batch] = (),
        parts: tuple[str, ...] = ("valid",),
        graphs: int = 0,
    ) -> None:
        super().__init__()
        self.register_buffer("past_costs", torch.full((graphs,), torch.nan))
        self.model, self.task, self.optim = model, task, optim
        self.seed, self.calibration, self.parts = seed, calibration, parts
        self.metrics = torch.nn.ModuleDict({part: build_metric(task) for part in parts})
        self.loss_sum = torch.zeros((), dtype=torch.float64)
        self.loss_count = 0
        self.passes = 0

    @property
    def graph_model(self) -> GraphModel:
        """The model by its protocol."""
        model: GraphModel = self.model  # type: ignore[assignment]
        return model

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """One step's loss."""
        self._reseed(self.current_epoch, batch_idx, self.passes)
        self.passes += 1
        remembers = len(self.past_costs) > 0 and "index" in batch
        if remembers:
            batch.past_cost = self.past_costs[batch.index]
        step = self.graph_model.objective(batch, batch.y, self.task.loss_terms)
        if self.passes > 1:  # ASAM looks at a batch twice; the first time counts
            return step.loss
        if remembers:
            costs = step.costs.to(self.past_costs.dtype)
            seen = batch.past_cost.isfinite()
            self.past_costs[batch.index] = torch.where(seen, (batch.past_cost + costs) / 2, costs)
        self.loss_sum += step.prediction_loss.double().cpu()
        self.loss_count += 1
        return step.loss

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """No pass over this batch yet."""
        self.passes = 0

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
        self._metric(self.parts[dataloader_idx]).update(*scored(self.model, batch))

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
        """One optimiser, the prediction network in its first group and the selection network in its second."""
        apart = getattr(self.model, "selection_parameters", None)
        selection = [] if apart is None else apart()
        chosen = {id(weight) for weight in selection}
        prediction = [weight for weight in self.model.parameters() if id(weight) not in chosen]
        groups: list[dict[str, Any]] = [{"params": prediction, "lr": self.optim.learning_rate}]
        if selection:
            own = self.optim.selection_learning_rate
            groups.append({"params": selection, "lr": self.optim.learning_rate if own is None else own})
        optimizer = self._optimizer(groups)
        if self.optim.schedule == "cosine":
            rate = warmup_cosine(int(self.trainer.estimated_stepping_batches), self.optim.warmup)
            return {
                "optimizer": optimizer,
                "lr_scheduler": {"scheduler": LambdaLR(optimizer, rate), "interval": "step"},
            }
        every, decay = self.optim.decay_every, self.optim.decay
        if self.optim.schedule == "plateau":
            mode: Literal["min", "max"] = "max" if self.task.higher_is_better else "min"
            falling = ReduceLROnPlateau(optimizer, mode, factor=decay, patience=self.optim.plateau_patience)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": falling, "monitor": self.parts[0]}}

        def of_prediction(epoch: int) -> float:
            if self.optim.schedule == "milestones":
                return float(decay ** sum(epoch >= one for one in self.optim.milestones))
            return float(decay ** (epoch // every)) if every else 1.0

        return {
            "optimizer": optimizer,
            "lr_scheduler": LambdaLR(optimizer, [of_prediction, lambda _epoch: 1.0][: len(groups)]),
        }

    def _optimizer(self, groups: list[dict[str, Any]]) -> Optimizer:
        optim, optimizer = self.optim, make_optimizer(self.optim, groups)
        if not optim.asam_rho:
            return optimizer
        return Asam(optimizer, scaled_weights(self.model), rho=optim.asam_rho, eta=optim.asam_eta)

    def on_train_epoch_end(self) -> None:
        """Stop once the learning rate has fallen far enough."""
        rates = [group["lr"] for optimizer in self.trainer.optimizers for group in optimizer.param_groups]
        if self.optim.schedule == "plateau" and max(rates) < self.optim.least_rate:
            self.trainer.should_stop = True

    def _metric(self, part: str) -> Metric:
        metric = self.metrics[part]
        assert isinstance(metric, Metric)
        return metric

    def _reseed(self, epoch: int, step: int, attempt: int = 0) -> None:
        place = [self.seed, epoch, step + 1, self.global_rank, *([attempt] if attempt else [])]
        words = np.random.SeedSequence(place).generate_state(1, np.uint64)
        torch.manual_seed(int(words[0]))


def warmup_cosine(steps: int, warmup: float) -> Callable[[int], float]:
    """What the learning rate is multiplied by at each step: it rises over a share of the steps, then falls to zero."""
    rising = max(1, round(warmup * steps))

    def rate(step: int) -> float:
        if step < rising:
            return (step + 1) / rising
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - rising) / max(1, steps - rising))))

    return rate


def make_optimizer(optim: OptimConfig, groups: list[dict[str, Any]]) -> Optimizer:
    """The optimiser of the settings; with Adam and SGD weights decay by way of their gradient.

    Args:
        optim: the settings.
        groups: weights with a learning rate each.
    """
    decay = optim.weight_decay
    if optim.optimizer == "adamw":
        return AdamW(groups, eps=optim.eps, weight_decay=decay, fused=True)
    if optim.optimizer == "sgd":
        return SGD(groups, momentum=optim.momentum, weight_decay=decay)
    return Adam(groups, eps=optim.eps, weight_decay=decay, fused=True)
