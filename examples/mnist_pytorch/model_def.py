"""A small convolutional network that learns handwritten digits, as a trial class."""

from __future__ import annotations

from typing import Any

import data
import torch
from layers import digit_classifier
from torch import nn

from determined.pytorch import DataLoader, LRScheduler, PyTorchTrial, PyTorchTrialContext


class MNistTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        self.train_set, self.validation_set = data.load(context.get_data_config())

        side = self.train_set.tensors[0].shape[-1]
        self.model = context.wrap_model(
            digit_classifier(
                side,
                n_filters1=context.get_hparam("n_filters1"),
                n_filters2=context.get_hparam("n_filters2"),
                dropout=context.get_hparam("dropout"),
            )
        )
        self.optimizer = context.wrap_optimizer(
            torch.optim.Adam(self.model.parameters(), lr=context.get_hparam("learning_rate"))
        )
        context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.95),
            LRScheduler.StepMode.STEP_EVERY_EPOCH,
        )
        self.loss = nn.CrossEntropyLoss()

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(self.train_set, batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(self.validation_set, batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, torch.Tensor]:
        images, labels = batch
        loss = self.loss(self.model(images), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        images, labels = batch
        scores = self.model(images)
        correct = (scores.argmax(dim=1) == labels).float()
        return {"validation_loss": self.loss(scores, labels), "accuracy": correct.mean()}
