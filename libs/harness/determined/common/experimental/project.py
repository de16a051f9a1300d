"""Projects: the experiments in them, their notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined.common import api
from determined.common.experimental import _training, experiment
from determined.common.experimental._session import session_of


class Project:
    """A project. Its attributes are those of the last look; `reload` looks again."""

    def __init__(self, session: api.Session, project_id: int):
        self._session = session_of(session)
        self.id = project_id
        self.archived: bool | None = None
        self.description: str | None = None
        self.n_active_experiments: int | None = None
        self.n_experiments: int | None = None
        self.name: str | None = None
        self.notes: list[dict[str, str]] | None = None
        self.workspace_id: int | None = None
        self.username: str | None = None
        self.key: str | None = None

    def __repr__(self) -> str:
        return f"Project(id={self.id}, name={self.name!r})"

    def reload(self) -> None:
        self._hydrate(self._session.get(self._path)["project"])

    def list_experiments(self) -> list[experiment.Experiment]:
        return _training.listed(self._session, {"projectId": self.id})

    def set_description(self, description: str) -> None:
        self._session.patch(self._path, {"description": description})
        self.description = description

    def set_key(self, key: str) -> None:
        self._session.patch(self._path, {"key": key})
        self.key = key

    def set_name(self, name: str) -> None:
        self._session.patch(self._path, {"name": name})
        self.name = name

    def archive(self) -> None:
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def add_note(self, name: str, contents: str) -> None:
        self.reload()
        self._put_notes([*(self.notes or []), {"name": name, "contents": contents}])

    def remove_note(self, name: str) -> None:
        """Remove the only note of this name. Raises ValueError where there is none, or more than one."""
        self.reload()
        kept = [note for note in self.notes or [] if note["name"] != name]
        removed = len(self.notes or []) - len(kept)
        if removed != 1:
            raise ValueError(f"project {self.id}: expected one note named {name!r}; found {removed}")
        self._put_notes(kept)

    def _put_notes(self, notes: list[dict[str, str]]) -> None:
        answer = self._session.put(f"{self._path}/notes", {"projectId": self.id, "notes": notes})
        self.notes = answer.get("notes", notes)

    @property
    def _path(self) -> str:
        return f"/api/v1/projects/{self.id}"

    def _hydrate(self, raw: Mapping[str, Any]) -> Project:
        self.archived, self.description, self.name = raw["archived"], raw.get("description"), raw["name"]
        self.n_active_experiments, self.n_experiments = raw["numActiveExperiments"], raw["numExperiments"]
        self.notes, self.workspace_id = list(raw.get("notes") or []), raw["workspaceId"]
        self.username, self.key = raw["username"], raw.get("key")
        return self
