"""Roles: the permissions that each built-in role has, and what a user may do who holds some of them.

The numbers and names are those of Determined's clients. A role is held on the whole cluster or on one workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property
from typing import TypeAlias


class Permission(IntEnum):
    """One thing that users may be allowed to do. The name follows `PERMISSION_TYPE_` on the wire."""

    CREATE_EXPERIMENT = 2001
    VIEW_EXPERIMENT_ARTIFACTS = 2002
    VIEW_EXPERIMENT_METADATA = 2003
    UPDATE_EXPERIMENT = 2004
    UPDATE_EXPERIMENT_METADATA = 2005
    DELETE_EXPERIMENT = 2006
    CREATE_NSC = 3001
    """NSC: notebooks, shells and commands."""
    VIEW_NSC = 3002
    UPDATE_NSC = 3003
    VIEW_WORKSPACE = 4002
    UPDATE_WORKSPACE = 4003
    DELETE_WORKSPACE = 4004
    SET_WORKSPACE_AGENT_USER_GROUP = 4005
    SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG = 4006
    SET_WORKSPACE_DEFAULT_RESOURCE_POOL = 4007
    CREATE_PROJECT = 5001
    VIEW_PROJECT = 5002
    UPDATE_PROJECT = 5003
    DELETE_PROJECT = 5004
    ASSIGN_ROLES = 6002
    VIEW_MODEL_REGISTRY = 7001
    EDIT_MODEL_REGISTRY = 7002
    CREATE_MODEL_REGISTRY = 7003
    DELETE_MODEL_REGISTRY = 7004
    DELETE_MODEL_VERSION = 7005
    DELETE_OTHER_USER_MODEL_REGISTRY = 7006
    DELETE_OTHER_USER_MODEL_VERSION = 7007
    VIEW_MASTER_LOGS = 8001
    VIEW_CLUSTER_USAGE = 8002
    UPDATE_AGENTS = 8003
    VIEW_SENSITIVE_AGENT_INFO = 8004
    VIEW_MASTER_CONFIG = 8005
    UPDATE_MASTER_CONFIG = 8006
    VIEW_EXTERNAL_JOBS = 8007
    CONTROL_STRICT_JOB_QUEUE = 8101
    VIEW_TEMPLATES = 9001
    UPDATE_TEMPLATES = 9002
    CREATE_TEMPLATES = 9003
    DELETE_TEMPLATES = 9004
    MODIFY_RP_WORKSPACE_BINDINGS = 10001
    SET_WORKSPACE_NAMESPACE_BINDINGS = 11001
    SET_RESOURCE_QUOTAS = 11002
    VIEW_RESOURCE_QUOTAS = 11003
    MODIFY_GLOBAL_CONFIG_POLICIES = 11004
    MODIFY_WORKSPACE_CONFIG_POLICIES = 11005
    VIEW_GLOBAL_CONFIG_POLICIES = 11006
    VIEW_WORKSPACE_CONFIG_POLICIES = 11007
    ADMINISTRATE_TOKEN = 12001
    UPDATE_TOKEN = 12002
    CREATE_TOKEN = 12003
    CREATE_OTHER_TOKEN = 12004
    VIEW_OTHER_TOKEN = 12005
    VIEW_TOKEN = 12006
    ADMINISTRATE_USER = 91001
    ADMINISTRATE_OAUTH = 91002
    UPDATE_GROUP = 93001
    CREATE_WORKSPACE = 94001
    UPDATE_ROLES = 96001
    EDIT_WEBHOOKS = 97001
    VIEW_WEBHOOKS = 97002

    @property
    def wire_name(self) -> str:
        return f"PERMISSION_TYPE_{self.name}"

    @property
    def is_cluster_only(self) -> bool:
        """Whether a role with the permission can be held on the whole cluster alone."""
        return self in CLUSTER_ONLY

    @property
    def words(self) -> str:
        """What people read."""
        return _WORDS.get(self) or self.name.lower().replace("_", " ")


P = Permission

CLUSTER_ONLY = frozenset(
    {
        P.VIEW_MASTER_LOGS,
        P.VIEW_CLUSTER_USAGE,
        P.UPDATE_AGENTS,
        P.VIEW_SENSITIVE_AGENT_INFO,
        P.VIEW_MASTER_CONFIG,
        P.UPDATE_MASTER_CONFIG,
        P.VIEW_EXTERNAL_JOBS,
        P.CONTROL_STRICT_JOB_QUEUE,
        P.MODIFY_RP_WORKSPACE_BINDINGS,
        P.SET_WORKSPACE_NAMESPACE_BINDINGS,
        P.SET_RESOURCE_QUOTAS,
        P.MODIFY_GLOBAL_CONFIG_POLICIES,
        P.ADMINISTRATE_TOKEN,
        P.UPDATE_TOKEN,
        P.CREATE_TOKEN,
        P.CREATE_OTHER_TOKEN,
        P.VIEW_OTHER_TOKEN,
        P.VIEW_TOKEN,
        P.ADMINISTRATE_USER,
        P.ADMINISTRATE_OAUTH,
        P.UPDATE_GROUP,
        P.CREATE_WORKSPACE,
        P.UPDATE_ROLES,
    }
)

_WORDS: Mapping[Permission, str] = {
    P.CREATE_NSC: "create notebooks/shells/commands",
    P.VIEW_NSC: "view notebooks/shells/commands",
    P.UPDATE_NSC: "update notebooks/shells/commands",
    P.SET_WORKSPACE_AGENT_USER_GROUP: "set agent user group on workspace",
    P.SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG: "set checkpoint storage config on workspace",
    P.SET_WORKSPACE_DEFAULT_RESOURCE_POOL: "set default resource pool on workspace",
    P.VIEW_CLUSTER_USAGE: "view detailed cluster usage",
    P.ADMINISTRATE_OAUTH: "manage oauth",
    P.SET_WORKSPACE_NAMESPACE_BINDINGS: "set workspace-namespace bindings",
    P.ADMINISTRATE_TOKEN: "administrate access token",
    P.CREATE_TOKEN: "create access token",
    P.CREATE_OTHER_TOKEN: "create other access token",
    P.VIEW_OTHER_TOKEN: "view other access token",
    P.UPDATE_TOKEN: "update own access token",
    P.VIEW_TOKEN: "view own access token",
}
"""Where the words are not those of the permission's name."""


@dataclass(frozen=True, slots=True)
class Role:
    id: int
    name: str
    permissions: frozenset[Permission]

    @property
    def may_be_on_a_workspace(self) -> bool:
        """Whether it can be assigned on one workspace; every role can be assigned on the whole cluster."""
        return not self.permissions & CLUSTER_ONLY


_EDITS = frozenset(
    {
        P.CREATE_EXPERIMENT,
        P.VIEW_EXPERIMENT_ARTIFACTS,
        P.VIEW_EXPERIMENT_METADATA,
        P.UPDATE_EXPERIMENT,
        P.UPDATE_EXPERIMENT_METADATA,
        P.DELETE_EXPERIMENT,
        P.CREATE_NSC,
        P.VIEW_NSC,
        P.UPDATE_NSC,
        P.VIEW_WORKSPACE,
        P.CREATE_PROJECT,
        P.VIEW_PROJECT,
        P.UPDATE_PROJECT,
        P.VIEW_MODEL_REGISTRY,
        P.EDIT_MODEL_REGISTRY,
        P.CREATE_MODEL_REGISTRY,
        P.DELETE_MODEL_REGISTRY,
        P.DELETE_MODEL_VERSION,
        P.VIEW_TEMPLATES,
        P.UPDATE_TEMPLATES,
        P.CREATE_TEMPLATES,
        P.DELETE_TEMPLATES,
        P.VIEW_RESOURCE_QUOTAS,
        P.VIEW_GLOBAL_CONFIG_POLICIES,
        P.VIEW_WORKSPACE_CONFIG_POLICIES,
        P.EDIT_WEBHOOKS,
        P.VIEW_WEBHOOKS,
    }
)
_ADMINISTERS = {
    P.UPDATE_WORKSPACE,
    P.DELETE_WORKSPACE,
    P.SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG,
    P.SET_WORKSPACE_DEFAULT_RESOURCE_POOL,
    P.DELETE_PROJECT,
    P.ASSIGN_ROLES,
    P.DELETE_OTHER_USER_MODEL_REGISTRY,
    P.DELETE_OTHER_USER_MODEL_VERSION,
    P.MODIFY_WORKSPACE_CONFIG_POLICIES,
}
_POLICIES = {P.VIEW_GLOBAL_CONFIG_POLICIES, P.VIEW_WORKSPACE_CONFIG_POLICIES}
_VIEWS = {
    P.VIEW_EXPERIMENT_ARTIFACTS,
    P.VIEW_EXPERIMENT_METADATA,
    P.VIEW_NSC,
    P.VIEW_WORKSPACE,
    P.VIEW_PROJECT,
    P.VIEW_MODEL_REGISTRY,
    P.VIEW_TEMPLATES,
    P.VIEW_RESOURCE_QUOTAS,
    P.VIEW_WEBHOOKS,
} | _POLICIES


def _role(role_id: int, name: str, permissions: Iterable[Permission]) -> Role:
    return Role(role_id, name, frozenset(permissions))


CLUSTER_ADMIN = _role(1, "ClusterAdmin", Permission)
WORKSPACE_ADMIN = _role(2, "WorkspaceAdmin", _EDITS | _ADMINISTERS)

ROLES: Mapping[int, Role] = {
    role.id: role
    for role in (
        CLUSTER_ADMIN,
        WORKSPACE_ADMIN,
        _role(3, "WorkspaceCreator", {P.CREATE_WORKSPACE} | _POLICIES),
        _role(4, "Viewer", _VIEWS),
        _role(5, "Editor", _EDITS),
        _role(6, "ModelRegistryViewer", {P.VIEW_MODEL_REGISTRY} | _POLICIES),
        _role(7, "EditorRestricted", _EDITS - {P.CREATE_NSC, P.UPDATE_NSC}),
        _role(8, "GenAIUser", (_EDITS - {P.EDIT_WEBHOOKS, P.VIEW_WEBHOOKS}) | {P.DELETE_PROJECT, P.CREATE_WORKSPACE}),
        _role(9, "EditorProjectRestricted", _EDITS - {P.CREATE_PROJECT, P.UPDATE_PROJECT}),
        _role(10, "TokenCreator", {P.UPDATE_TOKEN, P.CREATE_TOKEN, P.VIEW_TOKEN}),
    )
}
"""All roles there are, by id. They are fixed: nobody can add one or change one."""


class Everywhere(Enum):
    EVERYWHERE = "on the cluster: in all workspaces, those to come too, and outside of them"


EVERYWHERE = Everywhere.EVERYWHERE

Workspaces: TypeAlias = frozenset[int] | Everywhere
"""Ids of workspaces, or all there are."""

NOWHERE: Workspaces = frozenset()


@dataclass(frozen=True)
class Rights:
    """What somebody may do who holds these roles.

    `assignments`: pairs of the id of a role and the id of the workspace that it is held on; None for the whole cluster.
    """

    assignments: frozenset[tuple[int, int | None]] = frozenset()

    @cached_property
    def _held(self) -> Mapping[Permission, Workspaces]:
        held: dict[Permission, Workspaces] = {}
        for role_id, workspace_id in self.assignments:
            for permission in ROLES[role_id].permissions:
                so_far = held.get(permission, NOWHERE)
                if workspace_id is None or isinstance(so_far, Everywhere):
                    held[permission] = EVERYWHERE
                else:
                    held[permission] = so_far | {workspace_id}
        return held

    def may(self, permission: Permission, workspace_id: int | None) -> bool:
        """Whether `permission` is held on that workspace; None asks for the whole cluster."""
        where = self.workspaces_with(permission)
        return isinstance(where, Everywhere) or workspace_id in where

    def may_anywhere(self, permission: Permission) -> bool:
        """Whether `permission` is held on the cluster, or on at least one workspace."""
        return permission in self._held

    def workspaces_with(self, permission: Permission) -> Workspaces:
        """The ids of the workspaces that `permission` is held on; EVERYWHERE where it is held on the cluster."""
        return self._held.get(permission, NOWHERE)
