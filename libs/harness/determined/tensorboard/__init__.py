"""Event files for TensorBoard: written with the standard library only, and stored beside the checkpoints."""

from __future__ import annotations

from determined.tensorboard._manager import TensorboardManager as TensorboardManager
from determined.tensorboard._manager import storage_folder as storage_folder
from determined.tensorboard._metric_writer import BatchMetricWriter as BatchMetricWriter
from determined.tensorboard._writer import EventFileWriter as EventFileWriter

__all__ = ["BatchMetricWriter", "EventFileWriter", "TensorboardManager", "storage_folder"]
