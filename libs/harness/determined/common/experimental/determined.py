"""`Determined`: a session with a master, and everything that is found or made through it."""

from __future__ import annotations

import logging
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from determined import errors
from determined.common import api
from determined.common.client.password import on_the_wire
from determined.common.experimental import (
    _login,
    _submission,
    _training,
    checkpoint,
    experiment,
    metrics,
    model,
    oauth2_scim_client,
    trial,
    user,
    workspace,
)
from determined.common.experimental._order import OrderBy, value_of

logger = logging.getLogger("determined.client")

_NO_SINGLE_SIGN_ON = "this cluster has no single sign-on, and therefore no OAuth clients"


class Determined:
    """A session with a master. What is not given comes from the environment and from the token store of `det`."""

    def __init__(
        self,
        master: str | None = None,
        user: str | None = None,
        password: str | None = None,
        cert_path: str | None = None,
        cert_name: str | None = None,
        noverify: bool = False,
    ):
        self._session = _login.session(master, user, password, _login.trust_of(cert_path, cert_name, noverify))

    def create_user(self, username: str, admin: bool, password: str | None = None, remote: bool = False) -> user.User:
        body: dict[str, Any] = {"user": {"username": username, "admin": admin, "active": True, "remote": remote}}
        if password is not None:
            body |= {"password": on_the_wire(password), "isHashed": True}
        return self._user(self._session.post("/api/v1/users", body)["user"])

    def get_user_by_id(self, user_id: int) -> user.User:
        return self._user(self._session.get(f"/api/v1/users/{user_id}")["user"])

    def get_user_by_name(self, user_name: str) -> user.User:
        return self._user(self._session.get(f"/api/v1/users/{api.segment(user_name)}/by-username")["user"])

    def whoami(self) -> user.User:
        return self._user(self._session.get("/api/v1/me")["user"])

    def get_session_username(self) -> str:
        return self._session.user

    def logout(self) -> None:
        """End the session here and at the master."""
        _login.log_out(self._session)

    def list_users(self, active: bool | None = None) -> list[user.User]:
        return [self._user(raw) for raw in self._session.pages("/api/v1/users", "users", {"active": active})]

    def _user(self, raw: dict[str, Any]) -> user.User:
        return user.User(raw["id"], self._session)._hydrate(raw)

    def create_experiment(
        self,
        config: str | pathlib.Path | dict[str, Any],
        model_dir: str | pathlib.Path | None = None,
        includes: Iterable[str | pathlib.Path] | None = None,
        project_id: int | None = None,
        template: str | None = None,
    ) -> experiment.Experiment:
        """Submit an experiment, which starts at once. `config` is a file's path or a dict."""
        body = _submission.body_of(config, model_dir, includes)
        body |= {key: value for key, value in (("projectId", project_id), ("template", template)) if value is not None}
        answer = self._session.post("/api/v1/experiments", body)
        for warning in answer.get("warnings") or ():
            logger.warning("the master warns: %s", warning)
        raw = answer["experiment"]
        return experiment.Experiment(raw["id"], self._session)._hydrate(raw)

    def get_experiment(self, experiment_id: int) -> experiment.Experiment:
        found = experiment.Experiment(experiment_id, self._session)
        found.reload()
        return found

    def list_experiments(
        self,
        sort_by: experiment.ExperimentSortBy | None = None,
        order_by: OrderBy | None = None,
        experiment_ids: list[int] | None = None,
        labels: list[str] | None = None,
        users: list[str] | None = None,
        states: list[experiment.ExperimentState] | None = None,
        name: str | None = None,
        project_id: int | None = None,
    ) -> list[experiment.Experiment]:
        query = {
            "sortBy": value_of(sort_by),
            "orderBy": value_of(order_by),
            "experimentIdFilter.incl": experiment_ids,
            "labels": labels,
            "users": users,
            "states": [state.value for state in states or ()],
            "name": name,
            "projectId": project_id,
        }
        return _training.listed(self._session, query)

    def get_trial(self, trial_id: int) -> trial.Trial:
        found = trial.Trial(trial_id, self._session)
        found.reload()
        return found

    def get_checkpoint(self, uuid: str) -> checkpoint.Checkpoint:
        found = checkpoint.Checkpoint(self._session, uuid)
        found.reload()
        return found

    def get_workspace(self, name: str) -> workspace.Workspace:
        return workspace.Workspace(self._session, workspace_name=name)

    def list_workspaces(self) -> list[workspace.Workspace]:
        found = list(self._session.pages("/api/v1/workspaces", "workspaces"))
        return [workspace.Workspace._of(self._session, raw) for raw in found]

    def create_workspace(self, name: str) -> workspace.Workspace:
        raw = self._session.post("/api/v1/workspaces", {"name": name})["workspace"]
        return workspace.Workspace._of(self._session, raw)

    def delete_workspace(self, name: str) -> None:
        """Ask the master to remove the workspace with everything in it; it does so after this returns."""
        self._session.delete(f"/api/v1/workspaces/{self.get_workspace(name).id}")

    def create_model(
        self,
        name: str,
        description: str | None = "",
        metadata: dict[str, Any] | None = None,
        labels: list[str] | None = None,
        workspace_name: str | None = None,
    ) -> model.Model:
        body = {
            "name": name,
            "description": description or "",
            "metadata": metadata,
            "labels": labels,
            "workspaceName": workspace_name,
        }
        sent = {key: value for key, value in body.items() if value is not None}
        raw = self._session.post("/api/v1/models", sent)["model"]
        return model.Model(self._session, raw["name"])._hydrate(raw)

    def get_model(self, identifier: str | int) -> model.Model:
        """The model of this name, or of this id."""
        found = model.Model(self._session, str(identifier))
        found.reload()
        return found

    def get_model_by_id(self, model_id: int) -> model.Model:
        return self.get_model(model_id)

    def list_models(
        self,
        sort_by: model.ModelSortBy = model.ModelSortBy.NAME,
        order_by: OrderBy = OrderBy.ASCENDING,
        name: str | None = None,
        description: str | None = None,
        model_id: int | None = None,
        workspace_names: list[str] | None = None,
        workspace_ids: list[int] | None = None,
    ) -> list[model.Model]:
        query = {
            "sortBy": sort_by.value,
            "orderBy": order_by.value,
            "name": name,
            "description": description,
            "id": model_id,
            "workspaceNames": workspace_names,
            "workspaceIds": workspace_ids,
        }
        return model.found(self._session, query)

    def get_models(
        self,
        sort_by: model.ModelSortBy = model.ModelSortBy.NAME,
        order_by: OrderBy = OrderBy.ASCENDING,
        name: str | None = None,
        description: str | None = None,
        model_id: int | None = None,
        workspace_names: list[str] | None = None,
        workspace_ids: list[int] | None = None,
    ) -> list[model.Model]:
        """The older name of `list_models`."""
        return self.list_models(sort_by, order_by, name, description, model_id, workspace_names, workspace_ids)

    def get_model_labels(self) -> list[str]:
        """All labels of models, the most used first."""
        return list(self._session.get("/api/v1/model/labels")["labels"])

    def list_oauth_clients(self) -> Sequence[oauth2_scim_client.Oauth2ScimClient]:
        raise errors.EnterpriseOnlyError(_NO_SINGLE_SIGN_ON)

    def add_oauth_client(self, domain: str, name: str) -> oauth2_scim_client.Oauth2ScimClient:
        raise errors.EnterpriseOnlyError(_NO_SINGLE_SIGN_ON)

    def remove_oauth_client(self, client_id: str) -> None:
        raise errors.EnterpriseOnlyError(_NO_SINGLE_SIGN_ON)

    def iter_trials_metrics(self, trial_ids: list[int], group: str) -> Iterable[metrics.TrialMetrics]:
        """The reports of one group of some trials, trial by trial."""
        return metrics.of_trials(self._session, trial_ids, group)

    def stream_trials_metrics(self, trial_ids: list[int], group: str) -> Iterable[metrics.TrialMetrics]:
        """The older name of `iter_trials_metrics`."""
        return self.iter_trials_metrics(trial_ids, group)

    def stream_trials_training_metrics(self, trial_ids: list[int]) -> Iterable[metrics.TrainingMetrics]:
        return metrics.training(self._session, trial_ids)

    def stream_trials_validation_metrics(self, trial_ids: list[int]) -> Iterable[metrics.ValidationMetrics]:
        return metrics.validation(self._session, trial_ids)
