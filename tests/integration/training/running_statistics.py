"""Trials with running statistics, of which ranks hold their own: `python running_statistics.py FOLDER`.

Two ranks validate on one batch, which only one of them has; then the chief validates on all of it by itself.
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import torch
from torch import nn
from torch.utils.data import TensorDataset

from determined import pytorch
from determined.pytorch import _backend


class Trial(pytorch.PyTorchTrial):
    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        network = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        network.register_buffer("mask", torch.ones(3, dtype=torch.bool))  # which not every collective can carry
        self.model = context.wrap_model(network)
        # Trains nothing, which DistributedDataParallel refuses to wrap.
        self.fixed = context.wrap_model(nn.Linear(4, 4).requires_grad_(False))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

    def build_training_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(records(64), batch_size=8, shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(records(8), batch_size=8)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        loss = self.model(self.fixed(batch[0])).pow(2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}


class ByBatch(Trial):
    def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        return {"loss": self.model(self.fixed(batch[0])).pow(2).mean()}


class ByDataset(Trial):
    def evaluate_full_dataset(self, data_loader: Any) -> dict[str, Any]:
        return {"loss": sum(float(self.model(self.fixed(batch[0])).pow(2).mean()) for batch in data_loader)}


def records(count: int) -> TensorDataset:
    return TensorDataset(torch.randn(count, 4, generator=torch.Generator().manual_seed(3)))


class Notes(pytorch.PyTorchCallback):
    def __init__(self) -> None:
        self.losses: list[float] = []

    def on_validation_end(self, metrics: dict[str, Any]) -> None:
        self.losses.append(float(metrics["loss"]))


def run(kind: type[Trial], path: pathlib.Path) -> None:
    notes = Notes()
    with pytorch.init(exp_conf={}, distributed=_backend.from_environment()) as context:
        trial = kind(context)
        trial.build_callbacks = lambda: {"notes": notes}  # type: ignore[method-assign]
        pytorch.Trainer(trial, context).fit(
            max_length=pytorch.Batch(6), validation_period=pytorch.Batch(2), checkpoint_policy="none"
        )
        # Those that the last validation was done with.
        statistics = [buffer.reshape(-1).tolist() for buffer in trial.model.buffers()]
        told = json.dumps({"losses": notes.losses, "statistics": statistics})
        path.with_suffix(f".{context.distributed.rank}.json").write_text(told)


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    run(ByBatch, place / "batches")
    run(ByDataset, place / "dataset")
