"""A small network on made-up images. Its dropout is drawn from the seed: equal training gives equal weights."""

from __future__ import annotations

import os
import time
from typing import Any

import torch
from torch import nn
from torch.utils.data import TensorDataset

from determined.pytorch import DataLoader, LRScheduler, PyTorchTrial, PyTorchTrialContext


def samples() -> TensorDataset:
    """Images of ten classes. They are made here because every rank of every run would take a second to import
    scikit-learn, which has real ones."""
    chance = torch.Generator().manual_seed(7)
    classes = torch.rand(10, 64, generator=chance)
    labels = torch.randint(10, (1797,), generator=chance)
    return TensorDataset((classes[labels] + torch.rand(1797, 64, generator=chance)) / 2, labels)


class Digits(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        self.samples = samples()
        self.model = context.wrap_model(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10)))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9))
        context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=20, gamma=0.5),
            LRScheduler.StepMode.STEP_EVERY_BATCH,
        )
        self.loss = nn.CrossEntropyLoss()

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(self.samples, batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(self.samples, batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, torch.Tensor]:
        if batch_idx >= self.context.get_hparam("quick_batches") and not self.hurries():
            time.sleep(1.0)
        images, labels = batch
        loss = self.loss(self.model(images), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def hurries(self) -> bool:
        return os.path.exists(f"/determined_shared_fs/{self.context.get_hparam('hurries_once_there_is')}")

    def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        images, labels = batch
        scores = self.model(images)
        return {"validation_loss": self.loss(scores, labels), "accuracy": (scores.argmax(1) == labels).float().mean()}
