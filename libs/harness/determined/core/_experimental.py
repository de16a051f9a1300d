"""Linking a trial's metrics to the checkpoint or model version that it used."""

from __future__ import annotations

from typing import Protocol

from determined.common import api


class _Checkpoint(Protocol):
    @property
    def uuid(self) -> str: ...


class _ModelVersion(Protocol):
    @property
    def checkpoint(self) -> _Checkpoint | None: ...

    @property
    def model_id(self) -> int: ...

    @property
    def model_version(self) -> int: ...


class ExperimentalCoreContext:
    """Parts of the Core API that may still change."""

    def __init__(self, session: api.Session, trial_id: int) -> None:
        self._session = session
        self._trial_id = trial_id

    def report_task_using_checkpoint(self, checkpoint: _Checkpoint) -> None:
        """Metrics of this trial say something about `checkpoint`."""
        self._post({"checkpointUuid": checkpoint.uuid})

    def report_task_using_model_version(self, model_version: _ModelVersion) -> None:
        """Metrics of this trial say something about `model_version`."""
        if model_version.checkpoint is None:
            raise ValueError("this model version has no checkpoint")
        self._post(
            {
                "checkpointUuid": model_version.checkpoint.uuid,
                "modelId": model_version.model_id,
                "modelVersion": model_version.model_version,
            }
        )

    def _post(self, source: dict[str, str | int]) -> None:
        kind = {"trialId": self._trial_id, "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE"}
        self._session.post("/api/v1/trial-source-info", {"trialSourceInfo": {**kind, **source}})


class DummyExperimentalCoreContext(ExperimentalCoreContext):
    def __init__(self) -> None:
        return

    def _post(self, source: dict[str, str | int]) -> None:
        return
