"""The section `security.authz` of the master configuration: by which rules users may do what."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from .pools import Section
from .rights import ROLES, WORKSPACE_ADMIN


class CreatorsRole(Section):
    enabled: bool = True
    """Whether those who create a workspace get a role on it."""
    role_id: int = Field(default=WORKSPACE_ADMIN.id, ge=1)

    @field_validator("role_id")
    @classmethod
    def _fits_a_workspace(cls, value: int) -> int:
        fitting = [role for role in ROLES.values() if role.may_be_on_a_workspace]
        if value not in {role.id for role in fitting}:
            known = ", ".join(f"{role.id} ({role.name})" for role in fitting)
            raise ValueError(f"expected the id of a role that can be held on a workspace: {known}; found {value}")
        return value

    @property
    def given(self) -> int | None:
        """The id of the role that creators get; None for none."""
        return self.role_id if self.enabled else None


class Authz(Section):
    type: Literal["basic", "rbac"] = "basic"
    """`rbac`: users may do what their roles permit. `basic`: administrators and owners may do more than others."""
    strict_job_queue_control: bool = False
    """Whether changes of the queue need a permission of the cluster. Only roles grant one."""
    rbac_ui_enabled: bool | None = None
    """Whether clients show roles; where it is left out they do so in a cluster of type `rbac`."""
    workspace_creator_assign_role: CreatorsRole = CreatorsRole()

    @model_validator(mode="after")
    def _fits_its_type(self) -> Authz:
        if self.strict_job_queue_control and not self.enforces_roles:
            raise ValueError(
                "strict_job_queue_control needs type: rbac, because it is a role that lets a user change the queue"
            )
        return self

    @property
    def enforces_roles(self) -> bool:
        return self.type == "rbac"

    @property
    def shows_roles(self) -> bool:
        return self.enforces_roles if self.rbac_ui_enabled is None else self.rbac_ui_enabled
