"""Hooks of the training loop."""

from __future__ import annotations

from typing import Any


class PyTorchCallback:
    """Override the methods that you need. The names in build_callbacks are the keys of callbacks' states in
    checkpoints.

    Callbacks are called on every rank, except on_checkpoint_write_end and on_checkpoint_end: on the chief only.
    """

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: str | None) -> None:
        """Once, before the data loaders are built: where this run begins, and from which checkpoint."""

    def on_trial_shutdown(self) -> None:
        """Once at the end, also after an error."""

    def on_training_start(self) -> None:
        """Once the checkpoint is loaded and training is about to begin."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Before the first batch of an epoch."""

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """After the last batch of an epoch."""

    def on_training_workload_end(self, avg_metrics: dict[str, Any], batch_metrics: dict[str, Any]) -> None:
        """After each stretch of training, when its metrics were reported."""

    def on_validation_start(self) -> None:
        """Before each validation."""

    def on_validation_epoch_start(self) -> None:
        """Before the first batch of each validation."""

    def on_validation_epoch_end(self, outputs: list[Any]) -> None:
        """After the last batch of each validation, with what evaluate_batch returned for each."""

    def on_validation_end(self, metrics: dict[str, Any]) -> None:
        """After each validation, with the reduced metrics, before they are reported."""

    def on_checkpoint_load_start(self, checkpoint: dict[str, Any]) -> None:
        """With the contents of a checkpoint, before they are restored."""

    def on_checkpoint_save_start(self, checkpoint: dict[str, Any]) -> None:
        """With the contents of a checkpoint, before they are written; they may be changed."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """The older name of on_checkpoint_write_end."""

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        """When the files are written, before they are stored; more may be added to the folder."""

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """When the checkpoint is stored and reported."""

    def state_dict(self) -> dict[str, Any]:
        """The state of this callback for a checkpoint."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state that `state_dict` returned, in a run that resumes."""
