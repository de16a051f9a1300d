"""The exceptions of the library, under the names that existing programs catch."""

from __future__ import annotations

from typing import Any


class EnterpriseOnlyError(Exception):
    """A feature that the community edition of older clusters did not have."""


class InternalException(Exception):
    """The library was used wrongly, or is in a state that should not occur."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidExperimentException(Exception):
    """The experiment's configuration or model code breaks a rule; the message names it."""


class InvalidDataTypeException(InvalidExperimentException):
    """Data of a kind that the training loop cannot handle."""

    def __init__(self, typ: type, message: str) -> None:
        super().__init__(f"{message} (found {typ.__name__})")


class InvalidConfigurationException(InvalidExperimentException):
    """A field of the configuration is not valid."""

    def __init__(self, config: dict[str, Any], message: str) -> None:
        super().__init__(message)
        self.config = config


class InvalidModelException(InvalidExperimentException):
    """Model code that does not keep to the trial API."""


class InvalidCheckpointException(Exception):
    """A checkpoint that this library cannot read as one of a trial class."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(
            "not a checkpoint of a trial class: it needs load_data.json, state_dict.pth and code/"
            + (f" ({detail})" if detail else "")
        )


class StopLoadingImplementation(Exception):
    """Raised by model code to stop its import early."""


class WorkerError(Exception):
    """A worker process of a distributed trial failed."""


class WorkerFinishedGracefully(Exception):
    """A worker process of a distributed trial ended as it should."""


class SkipWorkloadException(Exception):
    """The present stretch of work should be left out."""


class CheckpointNotFound(Exception):
    """No finished checkpoint of this id is in the storage."""


class CheckpointStateException(Exception):
    """The checkpoint is in a state (deleted, unfinished) that does not allow what was asked."""


class NoDirectStorageAccess(Exception):
    """The checkpoint storage cannot be reached from here."""


class ProxiedDownloadFailed(Exception):
    """A download through the master did not succeed."""


class MultipleDownloadsFailed(Exception):
    """Neither the direct way to the storage nor the one through the master worked."""
