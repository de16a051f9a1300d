"""A plain DistributedDataParallel script that is a trial by the Core API: metrics, checkpoints, preemption, resuming.

On a cluster determined.launch.torch_distributed starts its ranks, on one machine or many. By itself it runs too:
`torchrun --nproc-per-node 2 train.py`.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import determined as det

DEFAULTS = {"global_batch_size": 64, "learning_rate": 0.002, "hidden_size": 64, "epochs": 12}
VALIDATION = 360
"""How many of the 1797 digits are kept for validation."""


def digits() -> tuple[TensorDataset, TensorDataset]:
    """For training and validation: pixels from 0 to 1, float32[64], and a label; the same order everywhere."""
    images, labels = load_digits(return_X_y=True)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(7))
    pixels, numbers = torch.tensor(images, dtype=torch.float32)[order] / 16, torch.tensor(labels)[order]
    training = TensorDataset(pixels[:-VALIDATION], numbers[:-VALIDATION])
    return training, TensorDataset(pixels[-VALIDATION:], numbers[-VALIDATION:])


def mean_over_ranks(value: float) -> float:
    total = torch.tensor(value)
    dist.all_reduce(total)
    return float(total) / dist.get_world_size()


def validate(model: nn.Module, validation: TensorDataset) -> float:
    """Accuracy on this rank's share of the records that nobody trains on, and the mean of all shares."""
    images, labels = (column[dist.get_rank() :: dist.get_world_size()] for column in validation.tensors)
    with torch.no_grad():
        right = model(images).argmax(1) == labels
    return mean_over_ranks(float(right.float().mean()))


def train(core_context: det.core.Context, hparams: dict[str, Any], latest_checkpoint: str | None) -> None:
    torch.manual_seed(7)
    training, validation = digits()
    model = nn.Sequential(nn.Linear(64, hparams["hidden_size"]), nn.ReLU(), nn.Linear(hparams["hidden_size"], 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=hparams["learning_rate"])
    epoch = steps = 0
    if latest_checkpoint is not None:
        with core_context.checkpoint.restore_path(latest_checkpoint) as path:
            state = torch.load(path / "state.pt", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        epoch, steps = state["epoch"], state["steps"]
        logging.info("rank %d resumed after epoch %d", dist.get_rank(), epoch)

    parallel = DistributedDataParallel(model)  # averages the gradients of all ranks as they come
    sampler = DistributedSampler(training, seed=7)
    loader = DataLoader(training, hparams["global_batch_size"] // dist.get_world_size(), sampler=sampler)
    while epoch < hparams["epochs"]:
        sampler.set_epoch(epoch)
        losses = []
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(parallel(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        epoch, steps = epoch + 1, steps + len(losses)

        loss = mean_over_ranks(sum(losses) / len(losses))
        accuracy = validate(model, validation)
        if dist.get_rank() == 0:
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
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    info = det.get_cluster_info()
    with det.core.init(distributed=det.core.DistributedContext.from_torch_distributed()) as context:
        train(context, DEFAULTS if info is None else info.trial.hparams, info.latest_checkpoint if info else None)
    dist.destroy_process_group()
