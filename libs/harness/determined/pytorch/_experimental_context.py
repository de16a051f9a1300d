"""Parts of the trial context whose shape may still change: `context.experimental`."""

from __future__ import annotations

from typing import Any, Protocol

import torch


class WrapsScaler(Protocol):
    """The part of the trial context that this module needs. The trial context imports this module, so this module does
    not import the trial context."""

    def wrap_scaler(self, scaler: Any) -> Any: ...


class PyTorchExperimentalContext:
    """Switches for a trial's constructor."""

    def __init__(self, parent: WrapsScaler) -> None:
        self._parent = parent
        self._auto_amp = False
        self._data_checks_disabled = False
        self._auto_to_device = True

    def use_amp(self) -> None:
        """Train in mixed precision, with a gradient scaler that the platform updates and saves.

        Call it before wrapping models. Without a GPU it has no effect.
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
