"""The functions of the SDK: they use one session, made by `login` or, when the first of them is called, from what `det`
has saved."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from determined.common.experimental._order import OrderBy
from determined.common.experimental.checkpoint import (
    Checkpoint,
    CheckpointOrderBy,
    CheckpointSortBy,
    CheckpointState,
    DownloadMode,
)
from determined.common.experimental.determined import Determined
from determined.common.experimental.experiment import (
    Experiment,
    ExperimentOrderBy,
    ExperimentSortBy,
    ExperimentState,
)
from determined.common.experimental.metrics import TrainingMetrics, TrialMetrics, ValidationMetrics
from determined.common.experimental.model import Model, ModelOrderBy, ModelSortBy, ModelVersion
from determined.common.experimental.oauth2_scim_client import Oauth2ScimClient
from determined.common.experimental.project import Project
from determined.common.experimental.resource_pool import ResourcePool
from determined.common.experimental.trial import Trial, TrialOrderBy, TrialSortBy, TrialState
from determined.common.experimental.user import User
from determined.common.experimental.workspace import Workspace

__all__ = [
    "Checkpoint",
    "CheckpointOrderBy",
    "CheckpointSortBy",
    "CheckpointState",
    "Determined",
    "DownloadMode",
    "Experiment",
    "ExperimentOrderBy",
    "ExperimentSortBy",
    "ExperimentState",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "Oauth2ScimClient",
    "OrderBy",
    "Project",
    "ResourcePool",
    "TrainingMetrics",
    "Trial",
    "TrialMetrics",
    "TrialOrderBy",
    "TrialSortBy",
    "TrialState",
    "User",
    "ValidationMetrics",
    "Workspace",
    "add_oauth_client",
    "create_experiment",
    "create_model",
    "create_user",
    "create_workspace",
    "delete_workspace",
    "get_checkpoint",
    "get_experiment",
    "get_model",
    "get_model_by_id",
    "get_model_labels",
    "get_models",
    "get_session_username",
    "get_trial",
    "get_user_by_id",
    "get_user_by_name",
    "get_workspace",
    "iter_trials_metrics",
    "list_experiments",
    "list_models",
    "list_oauth_clients",
    "list_users",
    "list_workspaces",
    "login",
    "logout",
    "remove_oauth_client",
    "stream_trials_metrics",
    "stream_trials_training_metrics",
    "stream_trials_validation_metrics",
    "whoami",
]

_determined: Determined | None = None


def _session() -> Determined:
    global _determined
    if _determined is None:
        _determined = Determined()
    return _determined


def login(
    master: str | None = None,
    user: str | None = None,
    password: str | None = None,
    cert_path: str | None = None,
    cert_name: str | None = None,
    noverify: bool = False,
) -> None:
    """Make the session of this module. Raises ValueError when it has one."""
    global _determined
    if _determined is not None:
        raise ValueError("the module is logged in: call login() once, before every other function")
    _determined = Determined(master, user, password, cert_path, cert_name, noverify)


def create_experiment(
    config: str | pathlib.Path | dict[str, Any],
    model_dir: str | None = None,
    includes: Iterable[str | pathlib.Path] | None = None,
    project_id: int | None = None,
    template: str | None = None,
) -> Experiment:
    """Submit an experiment, which starts at once. `config` is a file's path or a dict."""
    return _session().create_experiment(config, model_dir, includes, project_id, template)


def get_experiment(experiment_id: int) -> Experiment:
    return _session().get_experiment(experiment_id)


def list_experiments(
    sort_by: ExperimentSortBy | None = None,
    order_by: OrderBy | None = None,
    experiment_ids: list[int] | None = None,
    labels: list[str] | None = None,
    users: list[str] | None = None,
    states: list[ExperimentState] | None = None,
    name: str | None = None,
    project_id: int | None = None,
) -> list[Experiment]:
    return _session().list_experiments(sort_by, order_by, experiment_ids, labels, users, states, name, project_id)


def create_user(username: str, admin: bool, password: str | None = None, remote: bool = False) -> User:
    return _session().create_user(username, admin, password, remote)


def get_user_by_id(user_id: int) -> User:
    return _session().get_user_by_id(user_id)


def get_user_by_name(user_name: str) -> User:
    return _session().get_user_by_name(user_name)


def get_session_username() -> str:
    return _session().get_session_username()


def whoami() -> User:
    return _session().whoami()


def logout() -> None:
    """End the session here and at the master."""
    _session().logout()


def list_users(active: bool | None = None) -> list[User]:
    return _session().list_users(active)


def get_trial(trial_id: int) -> Trial:
    return _session().get_trial(trial_id)


def get_checkpoint(uuid: str) -> Checkpoint:
    return _session().get_checkpoint(uuid)


def get_workspace(name: str) -> Workspace:
    return _session().get_workspace(name)


def list_workspaces() -> list[Workspace]:
    return _session().list_workspaces()


def create_workspace(name: str) -> Workspace:
    return _session().create_workspace(name)


def delete_workspace(name: str) -> None:
    """Ask the master to remove the workspace with everything in it; it does so after this returns."""
    _session().delete_workspace(name)


def create_model(name: str, description: str | None = "", metadata: dict[str, Any] | None = None) -> Model:
    return _session().create_model(name, description, metadata)


def get_model(identifier: str | int) -> Model:
    """The model of this name, or of this id."""
    return _session().get_model(identifier)


def get_model_by_id(model_id: int) -> Model:
    return _session().get_model_by_id(model_id)


def get_models(
    sort_by: ModelSortBy = ModelSortBy.NAME,
    order_by: OrderBy = OrderBy.ASCENDING,
    name: str = "",
    description: str = "",
) -> list[Model]:
    """The older form of `list_models`."""
    return _session().list_models(sort_by, order_by, name or None, description or None)


def list_models(
    sort_by: ModelSortBy = ModelSortBy.NAME,
    order_by: OrderBy = OrderBy.ASCENDING,
    name: str | None = None,
    description: str | None = None,
    model_id: int | None = None,
    workspace_names: list[str] | None = None,
    workspace_ids: list[int] | None = None,
) -> list[Model]:
    return _session().list_models(sort_by, order_by, name, description, model_id, workspace_names, workspace_ids)


def get_model_labels() -> list[str]:
    """All labels of models, the most used first."""
    return _session().get_model_labels()


def list_oauth_clients() -> Sequence[Oauth2ScimClient]:
    return _session().list_oauth_clients()


def add_oauth_client(domain: str, name: str) -> Oauth2ScimClient:
    return _session().add_oauth_client(domain, name)


def remove_oauth_client(client_id: str) -> None:
    _session().remove_oauth_client(client_id)


def iter_trials_metrics(trial_ids: list[int], group: str) -> Iterable[TrialMetrics]:
    """The reports of one group of some trials, trial by trial."""
    return _session().iter_trials_metrics(trial_ids, group)


def stream_trials_metrics(trial_ids: list[int], group: str) -> Iterable[TrialMetrics]:
    """The older name of `iter_trials_metrics`."""
    return _session().iter_trials_metrics(trial_ids, group)


def stream_trials_training_metrics(trial_ids: list[int]) -> Iterable[TrainingMetrics]:
    return _session().stream_trials_training_metrics(trial_ids)


def stream_trials_validation_metrics(trial_ids: list[int]) -> Iterable[ValidationMetrics]:
    return _session().stream_trials_validation_metrics(trial_ids)
