"""One Lightning module for every task and policy."""

from __future__ import annotations

from collections.abc import Iterable
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
from policylearn.nn.segments import NoCandidateError
from policylearn.settings.run_config import OptimConfig
from policylearn.settings.run_files import RunError
from policylearn.training.asam import Asam, scaled_weights
from policylearn.training.evaluation import scored
from policylearn.training.processes import rows_of_all, several_processes, share_of_labels
from policylearn.training.schedules import warmup_cosine

CHOICE = "choice"
"""The name of what chooses the epoch where the validation metric cannot be worked out: the loss on that part."""


class DivergedError(RunError):
    """The loss is no number any more; the message says where and what to try."""

    def __init__(self, epoch: int, step: int | None, rate: float) -> None:
        place = f"epoch {epoch}" + ("" if step is None else f", step {step}")
        super().__init__(
            f"the loss is not a number any more in {place}; lower optim.learning_rate ({rate:g}), or clip gradients"
            " with optim.gradient_clip 1"
        )
        self.epoch = epoch


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
        unscored: parts whose metric cannot be worked out; of the first part, the loss chooses the epoch then.
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
        unscored: Iterable[str] = (),
    ) -> None:
        super().__init__()
        self.register_buffer("past_costs", torch.full((graphs,), torch.nan))
        self.model, self.task, self.optim = model, task, optim
        self.seed, self.calibration, self.parts = seed, calibration, parts
        self.unscored = frozenset(unscored)
        self.metrics = torch.nn.ModuleDict({part: build_metric(task, loss=part in self.unscored) for part in parts})
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
        try:
            step = self.graph_model.objective(batch, batch.y, self.task.loss_terms)
        except NoCandidateError as error:
            raise DivergedError(self.current_epoch + 1, batch_idx + 1, self.optim.learning_rate) from error
        loss, shown = step.loss, step.prediction_loss
        if several_processes():
            share = share_of_labels(self.task.count_labels(batch.y))
            loss, shown = loss * share, shown * share
        if self.passes > 1:  # ASAM looks at a batch twice; the first time counts
            return loss
        if remembers:
            self._remember(batch.index, batch.past_cost, step.costs.to(self.past_costs.dtype))
        shown = shown.double().cpu()
        if not several_processes() and not shown.isfinite():  # of several, all must stop at once
            raise DivergedError(self.current_epoch + 1, batch_idx + 1, self.optim.learning_rate)
        self.loss_sum += shown
        self.loss_count += 1
        return loss

    def _remember(self, index: Tensor, past: Tensor, costs: Tensor) -> None:
        """Move the running means of these graphs' costs; every process knows all graphs', which it may see next.

        Args:
            index: the graphs, ``(G,)``.
            past: their means so far, NaN where there is none.
            costs: what they cost now.
        """
        costs = torch.where(past.isfinite(), (past + costs) / 2, costs)
        if several_processes():
            index, costs = rows_of_all(index), rows_of_all(costs)
        self.past_costs[index] = costs

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
        try:
            outputs = scored(self.model, batch)
        except NoCandidateError as error:
            raise DivergedError(self.current_epoch + 1, None, self.optim.learning_rate) from error
        self._metric(self.parts[dataloader_idx]).update(*outputs)

    def on_validation_epoch_end(self) -> None:
        """Log each part's metric over all of its data, and the epoch's mean loss over all processes."""
        sums = torch.stack([self.loss_sum, torch.tensor(float(self.loss_count), dtype=torch.float64)]).to(self.device)
        gathered = self.all_gather(sums)
        assert isinstance(gathered, Tensor)
        total, count = gathered.reshape(-1, 2).sum(0)
        if not total.isfinite():
            raise DivergedError(self.current_epoch + 1, None, self.optim.learning_rate)
        self.log("loss", total / count.clamp(min=1), sync_dist=False, rank_zero_only=False)
        for part in self.parts:
            metric = self._metric(part)
            value = metric.compute().to(self.device)
            if part in self.unscored and part == self.parts[0]:
                self.log(CHOICE, value, sync_dist=False, rank_zero_only=False)
            value = torch.full_like(value, torch.nan) if part in self.unscored else value
            self.log(part, value, sync_dist=False, rank_zero_only=False)
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
            by_loss = self.parts[0] in self.unscored
            mode: Literal["min", "max"] = "max" if self.task.higher_is_better and not by_loss else "min"
            falling = ReduceLROnPlateau(optimizer, mode, factor=decay, patience=self.optim.plateau_patience)
            watched = CHOICE if by_loss else self.parts[0]
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": falling, "monitor": watched}}

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
