"""Users: their names, their passwords, and as whom their tasks run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined.common import api
from determined.common.client.password import on_the_wire
from determined.common.experimental._session import session_of


class User:
    """A user. The attributes are those of the last look; `reload` looks again."""

    def __init__(self, user_id: int, session: api.Session):
        self._session = session_of(session)
        self.user_id = user_id
        self.username: str | None = None
        self.admin: bool | None = None
        self.active: bool | None = None
        self.remote: bool | None = None
        self.agent_uid: int | None = None
        self.agent_gid: int | None = None
        self.agent_user: str | None = None
        self.agent_group: str | None = None
        self.display_name: str | None = None

    def __repr__(self) -> str:
        return f"User(user_id={self.user_id}, username={self.username!r})"

    def reload(self) -> None:
        self._hydrate(self._session.get(self._path)["user"])

    def rename(self, new_username: str) -> None:
        self._patch({"username": new_username})

    def activate(self) -> None:
        self._patch({"active": True})

    def deactivate(self) -> None:
        self._patch({"active": False})

    def change_display_name(self, display_name: str) -> None:
        self._patch({"displayName": display_name})

    def change_password(self, new_password: str) -> None:
        self._patch({"password": on_the_wire(new_password), "isHashed": True})

    def link_with_agent(
        self,
        agent_uid: int | None = None,
        agent_gid: int | None = None,
        agent_user: str | None = None,
        agent_group: str | None = None,
    ) -> None:
        """Run the user's tasks as this user and group of the agents' hosts."""
        link = {"agentUid": agent_uid, "agentGid": agent_gid, "agentUser": agent_user, "agentGroup": agent_group}
        self._patch({"agentUserGroup": link})

    def _patch(self, changes: Mapping[str, Any]) -> None:
        self._hydrate(self._session.patch(self._path, changes)["user"])

    @property
    def _path(self) -> str:
        return f"/api/v1/users/{self.user_id}"

    def _hydrate(self, raw: Mapping[str, Any]) -> User:
        self.username, self.admin, self.active = raw["username"], raw["admin"], raw["active"]
        self.remote, self.display_name = raw.get("remote"), raw.get("displayName")
        link = raw.get("agentUserGroup") or {}
        self.agent_uid, self.agent_gid = link.get("agentUid"), link.get("agentGid")
        self.agent_user, self.agent_group = link.get("agentUser"), link.get("agentGroup")
        return self
