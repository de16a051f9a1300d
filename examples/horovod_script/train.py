"""A plain Horovod script that is a trial by the Core API: metrics, checkpoints, preemption, resuming.

On a cluster determined.launch.horovod starts its ranks, on one machine or many. By itself it runs too:
`python3 train.py`, or `horovodrun -np 2 python3 train.py`.
"""

from __future__ import annotations

import logging
from typing import Any

import horovod.torch as hvd
import torch
from sklearn.datasets import load_digits
from torch import nn

import determined as det

DEFAULTS = {"global_batch_size": 64, "learning_rate": 0.002, "hidden_size": 64, "epochs": 12}
VALIDATION = 360
"""How many of the 1797 digits are kept for validation."""


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels from 0 to 1, float32[1797, 64], and labels, int64[1797]; the same order everywhere."""
    images, labels = load_digits(return_X_y=True)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(7))
    return torch.tensor(images, dtype=torch.float32)[order] / 16, torch.tensor(labels)[order]


def my_batches(records: int, epoch: int, batch_size: int) -> list[torch.Tensor]:
    """Which records this rank trains on, batch by batch. All ranks shuffle alike, and each takes its share."""
    order = torch.randperm(records, generator=torch.Generator().manual_seed(epoch))
    mine = order[: records // hvd.size() * hvd.size()][hvd.rank() :: hvd.size()]
    return list(mine.split(batch_size))


def mean_over_ranks(value: float) -> float:
    return float(hvd.allreduce(torch.tensor(value), op=hvd.Average))


def validate(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """Accuracy on this rank's share of the records that nobody trains on, and the mean of all shares."""
    with torch.no_grad():
        right = model(images[hvd.rank() :: hvd.size()]).argmax(1) == labels[hvd.rank() :: hvd.size()]
    return mean_over_ranks(float(right.float().mean()))


def train(core_context: det.core.Context, hparams: dict[str, Any], latest_checkpoint: str | None) -> None:
    torch.manual_seed(7)
    images, labels = digits()
    model = nn.Sequential(nn.Linear(64, hparams["hidden_size"]), nn.ReLU(), nn.Linear(hparams["hidden_size"], 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=hparams["learning_rate"])
    epoch = steps = 0
    if latest_checkpoint is not None:
        with core_context.checkpoint.restore_path(latest_checkpoint) as path:
            state = torch.load(path / "state.pt", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        epoch, steps = state["epoch"], state["steps"]
        logging.info("rank %d resumed after epoch %d", hvd.rank(), epoch)

    # Everybody begins with what rank 0 has, and every step averages the gradients of all.
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

    while epoch < hparams["epochs"]:
        losses = []
        for batch in my_batches(len(labels) - VALIDATION, epoch, hparams["global_batch_size"] // hvd.size()):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        epoch, steps = epoch + 1, steps + len(losses)

        loss = mean_over_ranks(sum(losses) / len(losses))
        accuracy = validate(model, images[-VALIDATION:], labels[-VALIDATION:])
        if hvd.rank() == 0:
            core_context.train.report_training_metrics(steps, {"loss": loss})
            core_context.train.report_validation_metrics(steps, {"accuracy": accuracy})
            core_context.train.report_progress(epoch / hparams["epochs"])
            with core_context.checkpoint.store_path({"steps_completed": steps}) as (path, _):
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save({**state, "epoch": epoch, "steps": steps}, path / "state.pt")
        if core_context.preempt.should_preempt():  # every rank asks, and hears the same answer
            return


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    hvd.init()
    info = det.get_cluster_info()
    with det.core.init(distributed=det.core.DistributedContext.from_horovod(hvd)) as context:
        train(context, DEFAULTS if info is None else info.trial.hparams, info.latest_checkpoint if info else None)
