"""Where the roles of a user grant what a route asks for, in a cluster of `security.authz.type: rbac`.

Routes name what they touch and how, `experiment.edit`; roles are made of the numbered permissions of Determined. The
table here says which of these a route's permission stands for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import reduce

from resolute.api.principals import Principal
from resolute.api.scope import EVERYWHERE, Held
from resolute.config.rights import Everywhere, Permission, Rights

P = Permission

REQUIRED: Mapping[str, frozenset[Permission]] = {
    name: frozenset(permissions)
    for name, permissions in {
        "cluster.view": (),
        "user.view": (),
        "cluster.agents.edit": (P.UPDATE_AGENTS,),
        "cluster.agents.hardware.view": (P.VIEW_SENSITIVE_AGENT_INFO,),
        "cluster.bindings.edit": (P.MODIFY_RP_WORKSPACE_BINDINGS,),
        "cluster.config.view": (P.VIEW_MASTER_CONFIG,),
        "cluster.config.edit": (P.UPDATE_MASTER_CONFIG,),
        "cluster.history.view": (P.VIEW_MASTER_LOGS,),
        "cluster.logs.view": (P.VIEW_MASTER_LOGS,),
        "cluster.message.view": (P.UPDATE_MASTER_CONFIG,),
        "cluster.message.edit": (P.UPDATE_MASTER_CONFIG,),
        "cluster.metrics.view": (P.VIEW_CLUSTER_USAGE,),
        "cluster.usage.view": (P.VIEW_CLUSTER_USAGE,),
        "group.view": (),
        "group.edit": (P.UPDATE_GROUP,),
        "role.view": (),
        "workspace.roles.assign": (P.ASSIGN_ROLES,),
        "user.create": (P.ADMINISTRATE_USER,),
        "user.edit": (P.ADMINISTRATE_USER,),
        "token.view": (P.VIEW_TOKEN,),
        "token.create": (P.CREATE_TOKEN,),
        "token.edit": (P.UPDATE_TOKEN,),
        "token.others.view": (P.VIEW_OTHER_TOKEN,),
        "token.others.create": (P.CREATE_OTHER_TOKEN,),
        "token.others.edit": (P.ADMINISTRATE_TOKEN,),
        "workspace.view": (P.VIEW_WORKSPACE,),
        "workspace.create": (P.CREATE_WORKSPACE,),
        "workspace.edit": (
            P.UPDATE_WORKSPACE,
            P.SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG,
            P.SET_WORKSPACE_DEFAULT_RESOURCE_POOL,
        ),
        "workspace.host_user.edit": (P.SET_WORKSPACE_AGENT_USER_GROUP,),
        "workspace.delete": (P.DELETE_WORKSPACE,),
        "project.view": (P.VIEW_PROJECT,),
        "project.create": (P.CREATE_PROJECT,),
        "project.edit": (P.UPDATE_PROJECT,),
        "project.delete": (P.DELETE_PROJECT,),
        "experiment.view": (P.VIEW_EXPERIMENT_METADATA,),
        "experiment.artifacts.view": (P.VIEW_EXPERIMENT_ARTIFACTS,),
        "experiment.create": (P.CREATE_EXPERIMENT,),
        "experiment.edit": (P.UPDATE_EXPERIMENT,),
        "experiment.metadata.edit": (P.UPDATE_EXPERIMENT_METADATA,),
        "experiment.delete": (P.DELETE_EXPERIMENT,),
        "checkpoint.view": (P.VIEW_EXPERIMENT_METADATA, P.VIEW_EXPERIMENT_ARTIFACTS),
        "checkpoint.create": (P.UPDATE_EXPERIMENT,),
        "checkpoint.edit": (P.UPDATE_EXPERIMENT,),
        "task.view": (P.VIEW_EXPERIMENT_METADATA,),
        "task.edit": (P.UPDATE_EXPERIMENT,),
        "interactive.view": (P.VIEW_NSC,),
        "interactive.create": (P.CREATE_NSC,),
        "interactive.edit": (P.UPDATE_NSC,),
        "queue.view": (P.VIEW_EXPERIMENT_METADATA,),
        "queue.edit": (P.UPDATE_EXPERIMENT,),
        "model.view": (P.VIEW_MODEL_REGISTRY,),
        "model.create": (P.CREATE_MODEL_REGISTRY,),
        "model.edit": (P.EDIT_MODEL_REGISTRY,),
        "model.delete": (P.DELETE_MODEL_REGISTRY,),
        "model.others.delete": (P.DELETE_OTHER_USER_MODEL_REGISTRY,),
        "model.version.delete": (P.DELETE_MODEL_VERSION,),
        "model.version.others.delete": (P.DELETE_OTHER_USER_MODEL_VERSION,),
        "template.view": (P.VIEW_TEMPLATES,),
        "template.create": (P.CREATE_TEMPLATES,),
        "template.edit": (P.UPDATE_TEMPLATES,),
        "template.delete": (P.DELETE_TEMPLATES,),
        "policy.view": (P.VIEW_WORKSPACE_CONFIG_POLICIES,),
        "policy.edit": (P.MODIFY_WORKSPACE_CONFIG_POLICIES,),
        "global_policy.view": (P.VIEW_GLOBAL_CONFIG_POLICIES,),
        "global_policy.edit": (P.MODIFY_GLOBAL_CONFIG_POLICIES,),
        "webhook.view": (P.VIEW_WEBHOOKS,),
        "webhook.edit": (P.EDIT_WEBHOOKS,),
        "webhook.deliveries.view": (P.EDIT_WEBHOOKS,),
    }.items()
}
"""All of these have to be held. The permissions of tasks are those of trials; no task is of another kind yet. Without
any, what the route is for is free to every user."""

FREE = frozenset(name for name, permissions in REQUIRED.items() if not permissions)

STRICT: Mapping[str, frozenset[Permission]] = {"queue.edit": frozenset({P.CONTROL_STRICT_JOB_QUEUE})}
"""What is required instead with `security.authz.strict_job_queue_control`."""


class RoleGrants:
    """Implements `Grants`. Being an administrator counts for nothing here: the role ClusterAdmin does."""

    by_roles = True

    def __init__(self, rights_of: Callable[[int], Awaitable[Rights]], *, strict_queue: bool = False) -> None:
        """`rights_of`: what the roles of a user permit, by the user's id. It is asked for each request anew, so that a
        role that was assigned or removed counts at once, through every gateway."""
        self._rights_of = rights_of
        self._required = {**REQUIRED, **STRICT} if strict_queue else REQUIRED

    async def held(self, user: Principal, permissions: Collection[str]) -> Mapping[str, Held]:
        rights = Rights() if FREE.issuperset(permissions) else await self._rights_of(user.user_id)
        return {permission: granted(rights, self._required[permission]) for permission in permissions}


def granted(rights: Rights, required: frozenset[Permission]) -> Held:
    """Where all of these permissions are held; everywhere where there are none."""
    everywhere: Held = EVERYWHERE
    return reduce(_both, map(rights.workspaces_with, required), everywhere)


def _both(one: Held, other: Held) -> Held:
    if isinstance(one, Everywhere):
        return other
    return one if isinstance(other, Everywhere) else one & other


def required_by(permission: str) -> str:
    """The permissions of Determined that a route's permission stands for, as people read them."""
    return ", ".join(one.wire_name for one in sorted(REQUIRED[permission])) or "none"
