"""The model registry: models and their versions."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Iterable, Mapping
from typing import Any

from determined.common import api
from determined.common.experimental import checkpoint, metrics
from determined.common.experimental._order import ASC, DESC, OrderBy, time_of
from determined.common.experimental._session import UserSession, session_of


class ModelSortBy(enum.Enum):
    NAME = "SORT_BY_NAME"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    CREATION_TIME = "SORT_BY_CREATION_TIME"
    LAST_UPDATED_TIME = "SORT_BY_LAST_UPDATED_TIME"
    NUM_VERSIONS = "SORT_BY_NUM_VERSIONS"
    WORKSPACE = "SORT_BY_WORKSPACE"


class ModelOrderBy(enum.Enum):
    ASCENDING = ASC
    ASC = ASC
    DESCENDING = DESC
    DESC = DESC


class ModelVersion:
    """A version of a model: a checkpoint with a name and notes. Its attributes are those of the last look."""

    def __init__(self, session: api.Session, model_version: int, model_name: str):
        self._session = session_of(session)
        self.model_name = model_name
        self.model_version = model_version
        self.model_id: int | None = None
        self.checkpoint: checkpoint.Checkpoint | None = None
        self.metadata: dict[str, Any] | None = None
        self.name: str | None = None
        self.comment: str | None = None
        self.notes: str | None = None

    def __repr__(self) -> str:
        return f"ModelVersion(model_name={self.model_name!r}, model_version={self.model_version})"

    def set_name(self, name: str) -> None:
        self._session.patch(self._path, {"name": name})
        self.name = name

    def set_notes(self, notes: str) -> None:
        self._session.patch(self._path, {"notes": notes})
        self.notes = notes

    def delete(self) -> None:
        """Remove the version; its checkpoint stays."""
        self._session.delete(self._path)

    def iter_metrics(self, group: str | None = None) -> Iterable[metrics.TrialMetrics]:
        """The metrics of trials that started from this version."""
        answer = self._session.get(f"{self._path}/metrics", {"metricGroup": group})
        return metrics.of_reports(answer.get("metrics") or ())

    def get_metrics(self, group: str | None = None) -> Iterable[metrics.TrialMetrics]:
        """The older name of `iter_metrics`."""
        return self.iter_metrics(group)

    def reload(self) -> None:
        self._hydrate(self._session.get(self._path)["modelVersion"])

    @property
    def _path(self) -> str:
        return f"{_path_of(self.model_name)}/versions/{self.model_version}"

    def _hydrate(self, raw: Mapping[str, Any]) -> ModelVersion:
        self.model_id = raw["model"]["id"]
        found = raw.get("checkpoint")
        self.checkpoint = checkpoint.Checkpoint(self._session, found["uuid"])._hydrate(found) if found else None
        self.metadata, self.name = raw.get("metadata") or {}, raw.get("name")
        self.comment, self.notes = raw.get("comment"), raw.get("notes")
        return self


class Model:
    """A registered model. Its attributes are those of the last look; `reload` looks again."""

    def __init__(self, session: api.Session, name: str):
        self._session = session_of(session)
        self.name = name
        self.model_id: int | None = None
        self.description: str | None = None
        self.creation_time: datetime.datetime | None = None
        self.last_updated_time: datetime.datetime | None = None
        self.metadata: dict[str, Any] | None = None
        self.labels: list[str] | None = None
        self.username: str | None = None
        self.workspace_id: int | None = None
        self.archived: bool | None = None

    def __repr__(self) -> str:
        return f"Model(name={self.name!r})"

    def get_version(self, version: int = -1) -> ModelVersion | None:
        """The version of this number; the newest for -1, or None where the model has no version."""
        if version == -1:
            return next(iter(self._versions(OrderBy.DESC, 1)), None)
        raw = self._session.get(f"{self._path}/versions/{version}")["modelVersion"]
        return ModelVersion(self._session, version, self.name)._hydrate(raw)

    def list_versions(self, order_by: OrderBy = OrderBy.DESC) -> list[ModelVersion]:
        """All versions, the newest first."""
        return list(self._versions(order_by, None))

    def get_versions(self, order_by: OrderBy = OrderBy.DESC) -> list[ModelVersion]:
        """The older name of `list_versions`."""
        return self.list_versions(order_by)

    def _versions(self, order_by: OrderBy, limit: int | None) -> Iterable[ModelVersion]:
        query = {"orderBy": order_by.value, "sortBy": "SORT_BY_VERSION"}
        for raw in self._session.pages(f"{self._path}/versions", "modelVersions", query, limit=limit):
            yield ModelVersion(self._session, raw["version"], self.name)._hydrate(raw)

    def register_version(self, checkpoint_uuid: str) -> ModelVersion:
        body = {"modelName": self.name, "checkpointUuid": checkpoint_uuid}
        raw = self._session.post(f"{self._path}/versions", body)["modelVersion"]
        return ModelVersion(self._session, raw["version"], self.name)._hydrate(raw)

    def add_metadata(self, metadata: dict[str, Any]) -> None:
        """Add these keys, or replace their values."""
        self._set_metadata({**(self.metadata or {}), **metadata})

    def remove_metadata(self, keys: list[str]) -> None:
        """Remove these keys; unknown ones are left out."""
        if isinstance(keys, str):
            raise ValueError(f"keys: expected a list of keys; found the text {keys!r}")
        self._set_metadata({key: value for key, value in (self.metadata or {}).items() if key not in keys})

    def _set_metadata(self, metadata: dict[str, Any]) -> None:
        self._session.patch(self._path, {"metadata": metadata})
        self.metadata = metadata

    def move_to_workspace(self, workspace_name: str) -> None:
        self._session.patch(self._path, {"workspaceName": workspace_name})
        self.reload()

    def set_labels(self, labels: list[str]) -> None:
        """Replace all labels."""
        if not isinstance(labels, list):
            raise ValueError(f"labels: expected a list; found {type(labels).__name__}")
        self._session.patch(self._path, {"labels": labels})
        self.labels = labels

    def set_description(self, description: str) -> None:
        self._session.patch(self._path, {"description": description})
        self.description = description

    def archive(self) -> None:
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def delete(self) -> None:
        """Remove the model with its versions; their checkpoints stay."""
        self._session.delete(self._path)

    def reload(self) -> None:
        self._hydrate(self._session.get(self._path)["model"])

    @property
    def _path(self) -> str:
        return _path_of(self.name)

    def _hydrate(self, raw: Mapping[str, Any]) -> Model:
        self.name, self.model_id = raw["name"], raw["id"]
        self.description, self.archived = raw.get("description"), raw.get("archived")
        self.creation_time, self.last_updated_time = time_of(raw["creationTime"]), time_of(raw["lastUpdatedTime"])
        self.metadata, self.labels = raw.get("metadata") or {}, list(raw.get("labels") or [])
        self.username, self.workspace_id = raw.get("username"), raw.get("workspaceId")
        return self


def found(session: UserSession, query: Mapping[str, Any]) -> list[Model]:
    """The models that a query finds."""
    return [Model(session, raw["name"])._hydrate(raw) for raw in session.pages("/api/v1/models", "models", query)]


def _path_of(name: str) -> str:
    return f"/api/v1/models/{api.segment(name)}"
