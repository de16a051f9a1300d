"""Parts of the trial context whose shape may still change: `context.experimental`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from determined.pytorch._context import PyTorchTrialContext


class PyTorchExperimentalContext:
    """Switches to throw in a trial's constructor."""

    def __init__(self, parent: PyTorchTrialContext) -> None:
        self._parent = parent
        self._auto_amp = False
        self._data_checks_disabled = False
        self._auto_to_device = True

    def use_amp(self) -> None:
        """Train in mixed precision, with a gradient scaler that the platform looks after.

        Call it before wrapping models. Without a GPU it changes nothing.
        """
        self._parent.wrap_scaler(torch.amp.GradScaler("cuda", enabled=torch.cuda.is_available()))
        self._auto_amp = True

    def disable_dataset_reproducibility_checks(self) -> None:
        """Allow torch's own DataLoader: every rank then sees what that loader gives, and a resumed run
        continues at the same place only if its order is the same each time."""
        self._data_checks_disabled = True

    def disable_auto_to_device(self) -> None:
        """Leave batches where they are; the trial moves them with context.to_device."""
        self._auto_to_device = False
