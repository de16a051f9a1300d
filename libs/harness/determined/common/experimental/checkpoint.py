"""Checkpoints: what they hold, their files, their metadata."""

from __future__ import annotations

import dataclasses
import enum
import json
import pathlib
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

from determined import errors
from determined.common import api, storage
from determined.common.api import errors as api_errors
from determined.common.client import checkpoint_files
from determined.common.client.problems import ClientError
from determined.common.experimental import metrics
from determined.common.experimental._order import ASC, DESC, value_of
from determined.common.experimental._session import session_of


class DownloadMode(enum.Enum):
    """Straight from the storage, through the master, or whichever works."""

    DIRECT = "direct"
    MASTER = "master"
    AUTO = "auto"

    def __str__(self) -> str:
        return str(self.value)


class CheckpointState(enum.Enum):
    ACTIVE = "STATE_ACTIVE"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    PARTIALLY_DELETED = "STATE_PARTIALLY_DELETED"


class CheckpointSortBy(enum.Enum):
    UUID = "SORT_BY_UUID"
    TRIAL_ID = "SORT_BY_TRIAL_ID"
    BATCH_NUMBER = "SORT_BY_BATCH_NUMBER"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    SEARCHER_METRIC = "SORT_BY_SEARCHER_METRIC"


class CheckpointOrderBy(enum.Enum):
    ASC = ASC
    DESC = DESC


WITH_FILES = (CheckpointState.COMPLETED, CheckpointState.PARTIALLY_DELETED)
KEPT_BY_LOADERS = (storage.METADATA_FILE, "MLmodel")
"""A folder with one of these has been downloaded."""


@dataclasses.dataclass
class CheckpointTrainingMetadata:
    """The training that a checkpoint is of."""

    experiment_config: dict[str, Any]
    experiment_id: int
    trial_id: int
    hparams: dict[str, Any]
    validation_metrics: dict[str, Any]

    @classmethod
    def _of(cls, raw: Mapping[str, Any]) -> CheckpointTrainingMetadata | None:
        if not raw.get("trialId"):
            return None
        return cls(
            experiment_config=raw.get("experimentConfig") or {},
            experiment_id=raw["experimentId"],
            trial_id=raw["trialId"],
            hparams=raw.get("hparams") or {},
            validation_metrics=raw.get("validationMetrics") or {},
        )


class Checkpoint:
    """A checkpoint. Its attributes are those of the last look; `reload` looks again."""

    def __init__(self, session: api.Session, uuid: str):
        self._session = session_of(session)
        self.uuid = uuid
        self.task_id: str | None = None
        self.allocation_id: str | None = None
        self.report_time: str | None = None
        self.resources: dict[str, Any] | None = None
        self.metadata: dict[str, Any] | None = None
        self.state: CheckpointState | None = None
        self.training: CheckpointTrainingMetadata | None = None
        self._raw: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        return f"Checkpoint(uuid={self.uuid!r}, state={self.state.name if self.state else None})"

    def download(self, path: str | None = None, mode: DownloadMode = DownloadMode.AUTO) -> str:
        """Copy the files to `path`, `checkpoints/<uuid>` by default, unless they are there; returns the path."""
        self.reload()
        if self.state not in WITH_FILES:
            state = self.state.name if self.state else "UNSPECIFIED"
            raise errors.CheckpointStateException(
                f"checkpoint {self.uuid} is {state}; only completed ones can be downloaded"
            )
        target = pathlib.Path(path) if path is not None else pathlib.Path("checkpoints", self.uuid)
        target.mkdir(parents=True, exist_ok=True)
        if not any((target / name).exists() for name in KEPT_BY_LOADERS):
            with checkpoint_files.arriving(target, last=KEPT_BY_LOADERS) as folder:
                self._fetch(folder, DownloadMode(mode))
                checkpoint_files.write_metadata(folder, self._raw)
        return str(target)

    def _fetch(self, target: pathlib.Path, mode: DownloadMode) -> None:
        if mode is not DownloadMode.MASTER and checkpoint_files.copied_from_storage(self._raw, target):
            return
        unseen = f"this machine does not see the storage of checkpoint {self.uuid}"
        if mode is DownloadMode.DIRECT:
            raise errors.NoDirectStorageAccess(f"{unseen}; try DownloadMode.MASTER")
        try:
            self._through_master(target)
        except (api_errors.BadRequestException, ClientError) as problem:
            if mode is DownloadMode.MASTER:
                raise errors.ProxiedDownloadFailed(f"checkpoint {self.uuid}: {problem}") from problem
            raise errors.MultipleDownloadsFailed(f"{unseen}, and the master did not send it: {problem}") from problem

    def _through_master(self, target: pathlib.Path) -> None:
        with tempfile.TemporaryFile() as archive:
            self._session.download(f"/checkpoints/{self.uuid}", "application/gzip", archive)
            checkpoint_files.unpack(archive, self.uuid, target)

    def write_metadata_file(self, path: str) -> None:
        """Write the metadata as JSON to the file at `path`."""
        pathlib.Path(path).write_text(json.dumps(self.metadata or {}, indent=2))

    def add_metadata(self, metadata: dict[str, Any]) -> None:
        """Add these keys, or replace their values."""
        self._set_metadata({**(self.metadata or {}), **metadata})

    def remove_metadata(self, keys: list[str]) -> None:
        """Remove these keys; unknown ones are left out."""
        self._set_metadata({key: value for key, value in (self.metadata or {}).items() if key not in keys})

    def _set_metadata(self, metadata: dict[str, Any]) -> None:
        if not self._raw:
            self.reload()
        self._session.post(f"{self._path}/metadata", {"checkpoint": {**self._raw, "metadata": metadata}})
        self.metadata = metadata
        self._raw = {**self._raw, "metadata": metadata}

    def delete(self) -> None:
        """Ask the master to remove the files; it does so after this returns."""
        self._session.delete("/api/v1/checkpoints", {"checkpointUuids": [self.uuid]})

    def remove_files(self, globs: list[str]) -> None:
        """Ask the master to remove the files that match."""
        body = {"checkpointUuids": [self.uuid], "checkpointGlobs": globs}
        self._session.post("/api/v1/checkpoints/rm", body)

    def get_metrics(self, group: str | None = None) -> Iterable[metrics.TrialMetrics]:
        """The metrics of trials that started from this checkpoint."""
        answer = self._session.get(f"{self._path}/metrics", {"metricGroup": group})
        return metrics.of_reports(answer.get("metrics") or ())

    def get_pachyderm_commit(self) -> str:
        """The commit of the Pachyderm dataset that the experiment names."""
        config = self.training.experiment_config if self.training else {}
        dataset = ((config.get("integrations") or {}).get("pachyderm") or {}).get("dataset") or {}
        if "commit" not in dataset:
            raise ValueError(f"checkpoint {self.uuid}: the configuration names no commit of a Pachyderm dataset")
        return str(dataset["commit"])

    def reload(self) -> None:
        self._hydrate(self._session.get(self._path)["checkpoint"])

    @property
    def _path(self) -> str:
        return f"/api/v1/checkpoints/{self.uuid}"

    def _hydrate(self, raw: Mapping[str, Any]) -> Checkpoint:
        self._raw = raw
        self.task_id, self.allocation_id = raw.get("taskId"), raw.get("allocationId")
        self.report_time = raw.get("reportTime")
        self.resources, self.metadata = raw.get("resources") or {}, raw.get("metadata") or {}
        self.state = CheckpointState(raw["state"])
        self.training = CheckpointTrainingMetadata._of(raw.get("training") or {})
        return self


def listed(
    session: api.Session,
    path: str,
    sort_by: str | CheckpointSortBy | None,
    order_by: enum.Enum | None,
    max_results: int | None,
    states: Iterable[CheckpointState] = (),
) -> list[Checkpoint]:
    """The checkpoints under `path` in the order asked for: a metric's name, or one of the attributes."""
    assert (sort_by is None) == (order_by is None), "sort_by and order_by go together: give both or neither"
    if sort_by is not None and not isinstance(sort_by, (str, CheckpointSortBy)):
        raise ValueError(f"sort_by: expected the name of a metric or a CheckpointSortBy; found {sort_by!r}")
    attribute = sort_by if isinstance(sort_by, CheckpointSortBy) else None
    query = {
        "sortByAttr": value_of(attribute) or (None if sort_by else value_of(CheckpointSortBy.SEARCHER_METRIC)),
        "sortByMetric": sort_by if isinstance(sort_by, str) else None,
        "orderBy": value_of(order_by),
        "states": [each.value for each in states],
    }
    opened, found = session_of(session), []
    for raw in opened.pages(path, "checkpoints", query, limit=max_results):
        found.append(Checkpoint(opened, raw["uuid"])._hydrate(raw))
        if len(found) == max_results:
            break
    return found
