"""One Lightning module for every task and system."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, cast

import lightning
import numpy as np
import torch
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau
from torch_geometric.data import Batch

from policylearn.data import Task, build_metric
from policylearn.data.metrics import TaskMetric
from policylearn.models import GraphModel, calibrate
from policylearn.nn.segments import NoCandidateError
from policylearn.settings.run_config import OptimConfig
from policylearn.settings.run_files import RunError
from policylearn.training.asam import Asam, scaled_weights
from policylearn.training.evaluation import scored
from policylearn.training.processes import rows_of_all, several_processes, share_of_labels
from policylearn.training.schedules import warmup_cosine

CHOICE = "choice"
"""The name of what chooses the epoch where the validation metric cannot be computed: the loss on that part."""


class DivergedError(RunError):
    """The loss became NaN; the message says where and what to try."""

    def __init__(self, epoch: int, step: int | None, rate: float) -> None:
        place = f"epoch {epoch}" + ("" if step is None else f", step {step}")
        super().__init__(
            f"the loss became NaN in {place}; lower optim.learning_rate ({rate:g}), or clip gradients with"
            " optim.gradient_clip 1"
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
        graphs: how many graphs the data have, whose past costs are stored for a policy that learns from them; 0 stores
            none.
        unscored: parts whose metric cannot be computed; of the first part, the loss chooses the epoch then.
        frozen: parts of the model that stay as they are: no gradients, and norms and picks as in evaluation.
    """

    past_costs: Tensor

    def __init__(
        self,
        model: torch.nn.Module,
        task: Task,
        optim: OptimConfig,
        *,
        seed: int = 0,
        calibration: Collection[Batch] = (),
        parts: tuple[str, ...] = ("valid",),
        graphs: int = 0,
        unscored: Collection[str] = (),
        frozen: Collection[torch.nn.Module] = (),
    ) -> None:
        super().__init__()
        self.register_buffer("past_costs", torch.full((graphs,), torch.nan))
        self.model, self.task, self.optim = model, task, optim
        self.seed, self.calibration, self.parts, self.unscored = seed, calibration, parts, unscored
        self.metrics = self._new_metrics()
        self.loss_sum = torch.zeros((), dtype=torch.float64)
        self.loss_count = self.passes = 0
        self.frozen = [part.requires_grad_(False) for part in frozen]

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """One step's loss."""
        self._reseed(batch_idx, self.passes)
        self.passes += 1
        has_costs = len(self.past_costs) > 0 and "index" in batch
        if has_costs:
            batch.past_cost = self.past_costs[batch.index]
        try:
            step = cast(GraphModel, self.model).objective(batch, batch.y, self.task.loss_terms)
        except NoCandidateError as error:
            raise self._diverged(batch_idx) from error
        loss, shown = step.loss, step.prediction_loss
        if several_processes():
            share = share_of_labels((~batch.y.isnan()).sum())
            loss, shown = loss * share, shown * share
        if self.passes > 1:  # ASAM looks at a batch twice; the first time counts
            return loss
        if has_costs:
            self._update_costs(batch.index, batch.past_cost, step.costs.to(self.past_costs.dtype))
        shown = shown.double().cpu()
        if not several_processes() and not shown.isfinite():  # of several, all must stop at once
            raise self._diverged(batch_idx)
        self.loss_sum += shown
        self.loss_count += 1
        return loss

    def _diverged(self, step: int | None = None) -> DivergedError:
        number = None if step is None else step + 1
        return DivergedError(self.current_epoch + 1, number, self.optim.learning_rate)

    def _update_costs(self, index: Tensor, past: Tensor, costs: Tensor) -> None:
        """Move the running means of these graphs' costs; every process knows all graphs', which it may see next."""
        costs = torch.where(past.isfinite(), (past + costs) / 2, costs)
        if several_processes():
            index, costs = rows_of_all(index), rows_of_all(costs)
        self.past_costs[index] = costs

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Reset the number of passes over this batch."""
        self.passes = 0

    def on_train_epoch_start(self) -> None:
        """Begin the epoch's mean loss; all of the model has been put into training mode."""
        self.loss_sum, self.loss_count = torch.zeros((), dtype=torch.float64), 0
        for part in self.frozen:
            part.eval()

    def on_validation_epoch_start(self) -> None:
        """Bring the norms' statistics up to date where that is asked for."""
        if self.calibration:
            self._reseed(-1)
            calibrate(self.model, self.calibration)
            self.model.eval()

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Take a batch into the metric of its part."""
        try:
            outputs = scored(self.model, batch)
        except NoCandidateError as error:
            raise self._diverged() from error
        self.metrics[self.parts[dataloader_idx]].update(*outputs)

    def on_validation_epoch_end(self) -> None:
        """Log each part's metric over all of its data, and the epoch's mean loss over all processes."""
        sums = torch.stack([self.loss_sum, torch.tensor(float(self.loss_count), dtype=torch.float64)]).to(self.device)
        gathered = self.all_gather(sums)
        assert isinstance(gathered, Tensor)
        total, count = gathered.reshape(-1, 2).sum(0)
        if not total.isfinite():
            raise self._diverged()
        figures = {"loss": total / count.clamp(min=1)}
        for part in self.parts:
            figures[part] = torch.tensor(self.metrics[part].compute(), device=self.device)
            if part in self.unscored:
                if part == self.parts[0]:
                    figures[CHOICE] = figures[part]
                figures[part] = torch.full_like(figures[part], torch.nan)
        self.metrics = self._new_metrics()
        self.log_dict(figures, sync_dist=True, rank_zero_only=False)  # all processes must decide alike

    def configure_optimizers(self) -> Any:
        """One optimiser, the prediction network in its first group and the selection network in its second."""
        optim, apart = self.optim, getattr(self.model, "selection_parameters", None)
        selection = [] if apart is None else apart()
        chosen = {id(weight) for weight in selection}
        prediction = [weight for weight in self.model.parameters() if id(weight) not in chosen]
        groups: list[dict[str, Any]] = [{"params": prediction, "lr": optim.learning_rate}]
        if selection:
            own = optim.selection_learning_rate
            groups.append({"params": selection, "lr": optim.learning_rate if own is None else own})
        optimizer = make_optimizer(optim, groups)
        if optim.asam_rho:
            optimizer = Asam(optimizer, scaled_weights(self.model), rho=optim.asam_rho, eta=optim.asam_eta)
        return {"optimizer": optimizer, "lr_scheduler": self._scheduler(optimizer)}

    def _scheduler(self, optimizer: Optimizer) -> Any:
        """How the rates fall; over epochs, that of the selection network stays."""
        optim = self.optim
        if optim.schedule == "cosine":
            rate = warmup_cosine(int(self.trainer.estimated_stepping_batches), optim.warmup)
            return {"scheduler": LambdaLR(optimizer, rate), "interval": "step"}
        if optim.schedule == "plateau":
            by_loss = self.parts[0] in self.unscored
            mode: Literal["min", "max"] = "max" if self.task.higher_is_better and not by_loss else "min"
            falling = ReduceLROnPlateau(optimizer, mode, factor=optim.decay, patience=optim.plateau_patience)
            return {"scheduler": falling, "monitor": CHOICE if by_loss else self.parts[0]}

        def of_prediction(epoch: int) -> float:
            if optim.schedule == "milestones":
                return float(optim.decay ** sum(epoch >= one for one in optim.milestones))
            return float(optim.decay ** (epoch // optim.decay_every)) if optim.decay_every else 1.0

        return LambdaLR(optimizer, [of_prediction, lambda _epoch: 1.0][: len(optimizer.param_groups)])

    def on_train_epoch_end(self) -> None:
        """Stop once the learning rate has fallen far enough."""
        rates = [group["lr"] for optimizer in self.trainer.optimizers for group in optimizer.param_groups]
        if self.optim.schedule == "plateau" and max(rates) < self.optim.least_rate:
            self.trainer.should_stop = True

    def _new_metrics(self) -> dict[str, TaskMetric]:
        return {part: build_metric(self.task, loss=part in self.unscored) for part in self.parts}

    def _reseed(self, step: int, attempt: int = 0) -> None:
        place = [self.seed, self.current_epoch, step + 1, self.global_rank, *([attempt] if attempt else [])]
        words = np.random.SeedSequence(place).generate_state(1, np.uint64)
        torch.manual_seed(int(words[0]))


def make_optimizer(optim: OptimConfig, groups: list[dict[str, Any]]) -> Optimizer:
    """The optimiser of the settings for groups of weights; with Adam and SGD weights decay through their gradient."""
    decay = optim.weight_decay
    if optim.optimizer == "adamw":
        return AdamW(groups, eps=optim.eps, weight_decay=decay, fused=True)
    if optim.optimizer == "sgd":
        return SGD(groups, momentum=optim.momentum, weight_decay=decay)
    return Adam(groups, eps=optim.eps, weight_decay=decay, fused=True)
