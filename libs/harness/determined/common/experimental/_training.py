"""Experiments and their trials. Each knows the other, so both are here; `experiment` and `trial` name them."""

from __future__ import annotations

import base64
import enum
import pathlib
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from determined.common import api
from determined.common.experimental import checkpoint, metrics
from determined.common.experimental._order import ASC, DESC, OrderBy, value_of
from determined.common.experimental._places import project_named, workspace_named
from determined.common.experimental._session import UserSession, session_of


class LogLevel(enum.Enum):
    TRACE = "LOG_LEVEL_TRACE"
    DEBUG = "LOG_LEVEL_DEBUG"
    INFO = "LOG_LEVEL_INFO"
    WARNING = "LOG_LEVEL_WARNING"
    ERROR = "LOG_LEVEL_ERROR"
    CRITICAL = "LOG_LEVEL_CRITICAL"


class TrialState(enum.Enum):
    ACTIVE = "STATE_ACTIVE"
    PAUSED = "STATE_PAUSED"
    STOPPING_CANCELED = "STATE_STOPPING_CANCELED"
    STOPPING_KILLED = "STATE_STOPPING_KILLED"
    STOPPING_COMPLETED = "STATE_STOPPING_COMPLETED"
    STOPPING_ERROR = "STATE_STOPPING_ERROR"
    CANCELED = "STATE_CANCELED"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    QUEUED = "STATE_QUEUED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"


class TrialSortBy(enum.Enum):
    ID = "SORT_BY_ID"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    BEST_VALIDATION_METRIC = "SORT_BY_BEST_VALIDATION_METRIC"
    LATEST_VALIDATION_METRIC = "SORT_BY_LATEST_VALIDATION_METRIC"
    BATCHES_PROCESSED = "SORT_BY_BATCHES_PROCESSED"
    DURATION = "SORT_BY_DURATION"
    RESTARTS = "SORT_BY_RESTARTS"
    CHECKPOINT_SIZE = "SORT_BY_CHECKPOINT_SIZE"
    LOG_RETENTION_DAYS = "SORT_BY_LOG_RETENTION_DAYS"


class TrialOrderBy(enum.Enum):
    ASCENDING = ASC
    ASC = ASC
    DESCENDING = DESC
    DESC = DESC


class ExperimentState(enum.Enum):
    ACTIVE = "STATE_ACTIVE"
    PAUSED = "STATE_PAUSED"
    STOPPING_COMPLETED = "STATE_STOPPING_COMPLETED"
    STOPPING_CANCELED = "STATE_STOPPING_CANCELED"
    STOPPING_ERROR = "STATE_STOPPING_ERROR"
    COMPLETED = "STATE_COMPLETED"
    CANCELED = "STATE_CANCELED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    DELETING = "STATE_DELETING"
    DELETE_FAILED = "STATE_DELETE_FAILED"
    STOPPING_KILLED = "STATE_STOPPING_KILLED"
    QUEUED = "STATE_QUEUED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"


TERMINAL_STATES = {
    ExperimentState.COMPLETED,
    ExperimentState.CANCELED,
    ExperimentState.DELETED,
    ExperimentState.ERROR,
}


class ExperimentSortBy(enum.Enum):
    ID = "SORT_BY_ID"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    NUM_TRIALS = "SORT_BY_NUM_TRIALS"
    PROGRESS = "SORT_BY_PROGRESS"
    USER = "SORT_BY_USER"
    NAME = "SORT_BY_NAME"
    FORKED_FROM = "SORT_BY_FORKED_FROM"
    RESOURCE_POOL = "SORT_BY_RESOURCE_POOL"
    PROJECT_ID = "SORT_BY_PROJECT_ID"
    CHECKPOINT_SIZE = "SORT_BY_CHECKPOINT_SIZE"
    CHECKPOINT_COUNT = "SORT_BY_CHECKPOINT_COUNT"
    SEARCHER_METRIC_VAL = "SORT_BY_SEARCHER_METRIC_VAL"


class ExperimentOrderBy(enum.Enum):
    ASCENDING = ASC
    DESCENDING = DESC


class _Trained:
    """What has checkpoints: an experiment or a trial."""

    _session: UserSession
    _path: str
    _called: str

    def list_checkpoints(
        self,
        sort_by: str | checkpoint.CheckpointSortBy | None = None,
        order_by: OrderBy | None = None,
        max_results: int | None = None,
    ) -> list[checkpoint.Checkpoint]:
        """Checkpoints in order of the searcher's metric, the best first, unless another order is given."""
        return checkpoint.listed(self._session, f"{self._path}/checkpoints", sort_by, order_by, max_results)

    def _best(self, limit: int, sort_by: str | None, smaller_is_better: bool | None) -> list[checkpoint.Checkpoint]:
        together = "sort_by and smaller_is_better go together: give both or neither"
        assert (sort_by is None) == (smaller_is_better is None), together
        order = None if sort_by is None else OrderBy.ASC if smaller_is_better else OrderBy.DESC
        return checkpoint.listed(
            self._session, f"{self._path}/checkpoints", sort_by, order, limit, checkpoint.WITH_FILES
        )

    def _only(self, found: list[checkpoint.Checkpoint]) -> checkpoint.Checkpoint:
        if not found:
            raise ValueError(f"{self._called} has no complete checkpoint")
        return found[0]


class Trial(_Trained):
    """A trial. Its attributes are those of the last look; `reload` looks again."""

    def __init__(self, trial_id: int, session: api.Session):
        self._session = session_of(session)
        self.id = trial_id
        self._path, self._called = f"/api/v1/trials/{trial_id}", f"trial {trial_id}"
        self.experiment_id: int | None = None
        self.hparams: dict[str, Any] | None = None
        self.summary_metrics: dict[str, Any] | None = None
        self.state: TrialState | None = None

    def __repr__(self) -> str:
        return f"Trial(trial_id={self.id})"

    def iter_logs(
        self,
        follow: bool = False,
        *,
        head: int | None = None,
        tail: int | None = None,
        container_ids: list[str] | None = None,
        rank_ids: list[int] | None = None,
        stdtypes: list[str] | None = None,
        min_level: LogLevel | None = None,
        timestamp_before: str | int | None = None,
        timestamp_after: str | int | None = None,
        sources: list[str] | None = None,
        search_text: str | None = None,
    ) -> Iterable[str]:
        """The lines of the log; with `follow`, until the trial has ended. Instants are seconds since 1970, or text
        that ends in Z."""
        if head is not None and tail is not None:
            raise ValueError("head and tail: give one of them")
        query = {
            "limit": head if tail is None else tail,
            "follow": follow,
            "orderBy": None if tail is None else DESC,
            "containerIds": container_ids,
            "rankIds": rank_ids,
            "stdtypes": stdtypes,
            "levels": None if min_level is None else _from_level_up(min_level),
            "timestampBefore": _instant("timestamp_before", timestamp_before),
            "timestampAfter": _instant("timestamp_after", timestamp_after),
            "sources": sources,
            "searchText": search_text,
        }
        return self._log(query, reverse=tail is not None)

    def _log(self, query: Mapping[str, Any], *, reverse: bool) -> Iterator[str]:
        found = (str(line["message"]) for line in self._session.stream(f"{self._path}/logs", query))
        yield from reversed(list(found)) if reverse else found

    def logs(self, *args: Any, **kwargs: Any) -> Iterable[str]:
        """The older name of `iter_logs`."""
        return self.iter_logs(*args, **kwargs)

    def kill(self) -> None:
        self._session.post(f"{self._path}/kill")

    def top_checkpoint(
        self, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> checkpoint.Checkpoint:
        """The best checkpoint by the searcher's metric, or by the metric that is named."""
        return self._only(self._best(1, sort_by, smaller_is_better))

    def select_checkpoint(
        self,
        latest: bool = False,
        best: bool = False,
        uuid: str | None = None,
        sort_by: str | None = None,
        smaller_is_better: bool | None = None,
    ) -> checkpoint.Checkpoint:
        """Exactly one of the latest, the best, and the one that is named."""
        assert sum((latest, best, uuid is not None)) == 1, "give exactly one of latest, best and uuid"
        if uuid is not None:
            found = checkpoint.Checkpoint(self._session, uuid)
            found.reload()
            return found
        if best:
            return self.top_checkpoint(sort_by, smaller_is_better)
        assert (sort_by, smaller_is_better) == (None, None), "sort_by and smaller_is_better go with best"
        newest = checkpoint.CheckpointSortBy.BATCH_NUMBER
        path = f"{self._path}/checkpoints"
        return self._only(checkpoint.listed(self._session, path, newest, OrderBy.DESC, 1, checkpoint.WITH_FILES))

    def get_checkpoints(
        self, sort_by: str | checkpoint.CheckpointSortBy | None = None, order_by: OrderBy | None = None
    ) -> list[checkpoint.Checkpoint]:
        """The older name of `list_checkpoints`."""
        return self.list_checkpoints(sort_by, order_by)

    def iter_metrics(self, group: str) -> Iterable[metrics.TrialMetrics]:
        """The reports of one group: training, validation, or the trial's own."""
        return metrics.of_trials(self._session, [self.id], group)

    def stream_metrics(self, group: str) -> Iterable[metrics.TrialMetrics]:
        """The older name of `iter_metrics`."""
        return self.iter_metrics(group)

    def stream_training_metrics(self) -> Iterable[metrics.TrainingMetrics]:
        return metrics.training(self._session, [self.id])

    def stream_validation_metrics(self) -> Iterable[metrics.ValidationMetrics]:
        return metrics.validation(self._session, [self.id])

    def reload(self) -> None:
        self._hydrate(self._session.get(self._path)["trial"])

    def get_experiment(self) -> Experiment:
        if self.experiment_id is None:
            self.reload()
        assert self.experiment_id is not None
        found = Experiment(self.experiment_id, self._session)
        found.reload()
        return found

    def _hydrate(self, raw: Mapping[str, Any]) -> Trial:
        self.experiment_id, self.hparams = raw["experimentId"], raw.get("hparams")
        self.summary_metrics, self.state = raw.get("summaryMetrics"), TrialState(raw["state"])
        return self


class TrialReference(Trial):
    """The older name of `Trial`."""


class Experiment(_Trained):
    """An experiment. Its attributes are those of the last look; `reload` looks again."""

    def __init__(self, experiment_id: int, session: api.Session):
        self._session = session_of(session)
        self._id = experiment_id
        self._path, self._called = f"/api/v1/experiments/{experiment_id}", f"experiment {experiment_id}"
        self.config: dict[str, Any] | None = None
        self.state: ExperimentState | None = None
        self.labels: set[str] | None = None
        self.archived: bool | None = None
        self.name: str | None = None
        self.progress: float | None = None
        self.description: str | None = None
        self.notes: str | None = None
        self.project_id: int | None = None
        self.workspace_id: int | None = None

    @property
    def id(self) -> int:
        return self._id

    def __repr__(self) -> str:
        return f"Experiment(id={self.id})"

    def reload(self) -> None:
        self._hydrate(self._session.get(self._path)["experiment"])

    def set_name(self, name: str) -> None:
        self._patch({"name": name})
        self.name = name

    def set_description(self, description: str) -> None:
        self._patch({"description": description})
        self.description = description

    def set_notes(self, notes: str) -> None:
        self._patch({"notes": notes})
        self.notes = notes

    def add_label(self, label: str) -> None:
        self._session.put(f"{self._path}/labels/{api.segment(label)}")
        self.labels = {*(self.labels or ()), label}

    def remove_label(self, label: str) -> None:
        self._session.delete(f"{self._path}/labels/{api.segment(label)}")
        self.labels = {*(self.labels or ())} - {label}

    def set_labels(self, labels: set[str]) -> None:
        self._patch({"labels": sorted(labels)})
        self.labels = set(labels)

    def activate(self) -> None:
        self._session.post(f"{self._path}/activate")

    def archive(self) -> None:
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def cancel(self) -> None:
        """Stop after the trials have saved checkpoints."""
        self._session.post(f"{self._path}/cancel")

    def kill(self) -> None:
        """Stop at once."""
        self._session.post(f"{self._path}/kill")

    def pause(self) -> None:
        self._session.post(f"{self._path}/pause")

    def delete(self) -> None:
        """Ask the master to remove the experiment with its checkpoints; it does so after this returns."""
        self._session.delete(self._path)

    def download_code(self, output_dir: str | None = None) -> str:
        """Write the model definition as a .tar.gz into a directory, the current one by default; returns its path."""
        packed = base64.b64decode(self._session.get(f"{self._path}/model_def")["b64Tgz"])
        folder = pathlib.Path(output_dir or ".")
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"experiment_{self.id}_model_def.tar.gz"
        target.write_bytes(packed)
        return str(target)

    def iter_trials(
        self, sort_by: TrialSortBy = TrialSortBy.ID, order_by: OrderBy = OrderBy.ASCENDING, limit: int | None = None
    ) -> Iterator[Trial]:
        """The trials, page by page; `limit` is the length of a page."""
        query = {"sortBy": sort_by.value, "orderBy": order_by.value}
        for raw in self._session.pages(f"{self._path}/trials", "trials", query, limit=limit):
            yield Trial(raw["id"], self._session)._hydrate(raw)

    def list_trials(self, sort_by: TrialSortBy = TrialSortBy.ID, order_by: OrderBy = OrderBy.ASCENDING) -> list[Trial]:
        return list(self.iter_trials(sort_by, order_by))

    def get_trials(self, sort_by: TrialSortBy = TrialSortBy.ID, order_by: OrderBy = OrderBy.ASCENDING) -> list[Trial]:
        """The older name of `list_trials`."""
        return self.list_trials(sort_by, order_by)

    def await_first_trial(self, interval: float = 0.1) -> Trial:
        """Wait until the experiment has a trial. Raises RuntimeError when it ended without one."""
        while True:
            if found := next(self.iter_trials(limit=1), None):
                return found
            self.reload()
            if self.state in TERMINAL_STATES:
                raise RuntimeError(f"experiment {self.id} ended without a trial")
            time.sleep(interval)

    def wait(self, interval: float = 5.0) -> ExperimentState:
        """Wait until the experiment has ended; returns its state. Raises ValueError when it is paused."""
        while True:
            self.reload()
            if self.state in TERMINAL_STATES:
                return self.state
            if self.state is ExperimentState.PAUSED:
                raise ValueError(f"experiment {self.id} is paused: activate it before waiting for its end")
            time.sleep(interval)

    def move_to_project(self, workspace_name: str, project_name: str) -> None:
        workspace = workspace_named(self._session, workspace_name)
        project = project_named(self._session, workspace["id"], project_name)
        body = {"experimentId": self.id, "destinationProjectId": project["id"]}
        self._session.post(f"{self._path}/move", body)
        self.project_id, self.workspace_id = project["id"], workspace["id"]

    def top_checkpoint(
        self, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> checkpoint.Checkpoint:
        """The best checkpoint by the searcher's metric, or by the metric that is named."""
        return self._only(self._best(1, sort_by, smaller_is_better))

    def top_n_checkpoints(
        self, limit: int, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> list[checkpoint.Checkpoint]:
        """The best checkpoints, at most `limit` of them."""
        if limit < 1:
            raise ValueError(f"limit: expected at least 1; found {limit}")
        return self._best(limit, sort_by, smaller_is_better)

    def delete_tensorboard_files(self) -> None:
        self._session.delete(f"{self._path}/tensorboard-files")

    def get_pachyderm_config(self) -> dict[str, Any]:
        """The section `integrations.pachyderm` of the configuration."""
        section = ((self.config or {}).get("integrations") or {}).get("pachyderm")
        if section is None:
            raise ValueError(f"experiment {self.id}: the configuration has no section integrations.pachyderm")
        return dict(section)

    def _patch(self, changes: Mapping[str, Any]) -> None:
        self._session.patch(self._path, {"id": self.id, **changes})

    def _hydrate(self, raw: Mapping[str, Any]) -> Experiment:
        self.config, self.state = raw.get("config"), ExperimentState(raw["state"])
        self.labels, self.archived = set(raw.get("labels") or ()) or None, raw["archived"]
        self.name, self.progress = raw["name"], raw.get("progress")
        self.description, self.notes = raw.get("description"), raw.get("notes")
        self.project_id, self.workspace_id = raw["projectId"], raw.get("workspaceId")
        return self


class ExperimentReference(Experiment):
    """The older name of `Experiment`."""


def listed(session: UserSession, query: Mapping[str, Any]) -> list[Experiment]:
    """The experiments that a query finds."""
    found = session.pages("/api/v1/experiments", "experiments", query)
    return [Experiment(raw["id"], session)._hydrate(raw) for raw in found]


def _from_level_up(least: LogLevel) -> list[str]:
    levels = list(LogLevel)
    return [str(value_of(level)) for level in levels[levels.index(least) :]]


def _instant(name: str, given: str | int | None) -> str | None:
    if isinstance(given, str):
        if not given.endswith("Z"):
            raise ValueError(f"{name}: expected text that ends in Z, as in 2026-01-31T12:00:00Z; found {given!r}")
        return given
    return None if given is None else datetime.fromtimestamp(given, UTC).isoformat().replace("+00:00", "Z")
