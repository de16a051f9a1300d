"""The messages about groups of users and the roles that users and groups hold."""

from __future__ import annotations

from typing import Annotated

from resolute.api.identity.messages import User
from resolute.api.kernel.common import Id, Name, Offset, Pagination
from resolute.api.kernel.fields import Flag, Needed, OrAbsent, WireEnum, items, whole
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request

PAGE_MOST = 500
"""Groups or roles of one page."""

PageLimit = Annotated[int, whole(least=0, most=PAGE_MOST)]
"""How many of a list: at least 1."""

Ids = Annotated[tuple[Annotated[int, whole(least=1)], ...], items(10_000)]


class PermissionType(WireEnum, wire_name="v1PermissionType"):
    UNSPECIFIED = "PERMISSION_TYPE_UNSPECIFIED"
    ADMINISTRATE_USER = "PERMISSION_TYPE_ADMINISTRATE_USER"
    ADMINISTRATE_OAUTH = "PERMISSION_TYPE_ADMINISTRATE_OAUTH"
    CREATE_EXPERIMENT = "PERMISSION_TYPE_CREATE_EXPERIMENT"
    VIEW_EXPERIMENT_ARTIFACTS = "PERMISSION_TYPE_VIEW_EXPERIMENT_ARTIFACTS"
    VIEW_EXPERIMENT_METADATA = "PERMISSION_TYPE_VIEW_EXPERIMENT_METADATA"
    UPDATE_EXPERIMENT = "PERMISSION_TYPE_UPDATE_EXPERIMENT"
    UPDATE_EXPERIMENT_METADATA = "PERMISSION_TYPE_UPDATE_EXPERIMENT_METADATA"
    DELETE_EXPERIMENT = "PERMISSION_TYPE_DELETE_EXPERIMENT"
    CREATE_NSC = "PERMISSION_TYPE_CREATE_NSC"
    VIEW_NSC = "PERMISSION_TYPE_VIEW_NSC"
    UPDATE_NSC = "PERMISSION_TYPE_UPDATE_NSC"
    UPDATE_GROUP = "PERMISSION_TYPE_UPDATE_GROUP"
    CREATE_WORKSPACE = "PERMISSION_TYPE_CREATE_WORKSPACE"
    VIEW_WORKSPACE = "PERMISSION_TYPE_VIEW_WORKSPACE"
    UPDATE_WORKSPACE = "PERMISSION_TYPE_UPDATE_WORKSPACE"
    DELETE_WORKSPACE = "PERMISSION_TYPE_DELETE_WORKSPACE"
    SET_WORKSPACE_AGENT_USER_GROUP = "PERMISSION_TYPE_SET_WORKSPACE_AGENT_USER_GROUP"
    SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG = "PERMISSION_TYPE_SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG"
    SET_WORKSPACE_DEFAULT_RESOURCE_POOL = "PERMISSION_TYPE_SET_WORKSPACE_DEFAULT_RESOURCE_POOL"
    CREATE_PROJECT = "PERMISSION_TYPE_CREATE_PROJECT"
    VIEW_PROJECT = "PERMISSION_TYPE_VIEW_PROJECT"
    UPDATE_PROJECT = "PERMISSION_TYPE_UPDATE_PROJECT"
    DELETE_PROJECT = "PERMISSION_TYPE_DELETE_PROJECT"
    ASSIGN_ROLES = "PERMISSION_TYPE_ASSIGN_ROLES"
    VIEW_MODEL_REGISTRY = "PERMISSION_TYPE_VIEW_MODEL_REGISTRY"
    EDIT_MODEL_REGISTRY = "PERMISSION_TYPE_EDIT_MODEL_REGISTRY"
    CREATE_MODEL_REGISTRY = "PERMISSION_TYPE_CREATE_MODEL_REGISTRY"
    DELETE_MODEL_REGISTRY = "PERMISSION_TYPE_DELETE_MODEL_REGISTRY"
    DELETE_MODEL_VERSION = "PERMISSION_TYPE_DELETE_MODEL_VERSION"
    DELETE_OTHER_USER_MODEL_REGISTRY = "PERMISSION_TYPE_DELETE_OTHER_USER_MODEL_REGISTRY"
    DELETE_OTHER_USER_MODEL_VERSION = "PERMISSION_TYPE_DELETE_OTHER_USER_MODEL_VERSION"
    VIEW_MASTER_LOGS = "PERMISSION_TYPE_VIEW_MASTER_LOGS"
    VIEW_CLUSTER_USAGE = "PERMISSION_TYPE_VIEW_CLUSTER_USAGE"
    UPDATE_AGENTS = "PERMISSION_TYPE_UPDATE_AGENTS"
    VIEW_SENSITIVE_AGENT_INFO = "PERMISSION_TYPE_VIEW_SENSITIVE_AGENT_INFO"
    VIEW_MASTER_CONFIG = "PERMISSION_TYPE_VIEW_MASTER_CONFIG"
    UPDATE_MASTER_CONFIG = "PERMISSION_TYPE_UPDATE_MASTER_CONFIG"
    VIEW_EXTERNAL_JOBS = "PERMISSION_TYPE_VIEW_EXTERNAL_JOBS"
    CONTROL_STRICT_JOB_QUEUE = "PERMISSION_TYPE_CONTROL_STRICT_JOB_QUEUE"
    VIEW_TEMPLATES = "PERMISSION_TYPE_VIEW_TEMPLATES"
    UPDATE_TEMPLATES = "PERMISSION_TYPE_UPDATE_TEMPLATES"
    CREATE_TEMPLATES = "PERMISSION_TYPE_CREATE_TEMPLATES"
    DELETE_TEMPLATES = "PERMISSION_TYPE_DELETE_TEMPLATES"
    UPDATE_ROLES = "PERMISSION_TYPE_UPDATE_ROLES"
    EDIT_WEBHOOKS = "PERMISSION_TYPE_EDIT_WEBHOOKS"
    VIEW_WEBHOOKS = "PERMISSION_TYPE_VIEW_WEBHOOKS"
    MODIFY_RP_WORKSPACE_BINDINGS = "PERMISSION_TYPE_MODIFY_RP_WORKSPACE_BINDINGS"
    SET_WORKSPACE_NAMESPACE_BINDINGS = "PERMISSION_TYPE_SET_WORKSPACE_NAMESPACE_BINDINGS"
    SET_RESOURCE_QUOTAS = "PERMISSION_TYPE_SET_RESOURCE_QUOTAS"
    VIEW_RESOURCE_QUOTAS = "PERMISSION_TYPE_VIEW_RESOURCE_QUOTAS"
    MODIFY_GLOBAL_CONFIG_POLICIES = "PERMISSION_TYPE_MODIFY_GLOBAL_CONFIG_POLICIES"
    MODIFY_WORKSPACE_CONFIG_POLICIES = "PERMISSION_TYPE_MODIFY_WORKSPACE_CONFIG_POLICIES"
    VIEW_GLOBAL_CONFIG_POLICIES = "PERMISSION_TYPE_VIEW_GLOBAL_CONFIG_POLICIES"
    VIEW_WORKSPACE_CONFIG_POLICIES = "PERMISSION_TYPE_VIEW_WORKSPACE_CONFIG_POLICIES"
    ADMINISTRATE_TOKEN = "PERMISSION_TYPE_ADMINISTRATE_TOKEN"
    UPDATE_TOKEN = "PERMISSION_TYPE_UPDATE_TOKEN"
    CREATE_TOKEN = "PERMISSION_TYPE_CREATE_TOKEN"
    CREATE_OTHER_TOKEN = "PERMISSION_TYPE_CREATE_OTHER_TOKEN"
    VIEW_OTHER_TOKEN = "PERMISSION_TYPE_VIEW_OTHER_TOKEN"
    VIEW_TOKEN = "PERMISSION_TYPE_VIEW_TOKEN"


class ScopeTypeMask(Input, wire_name="v1ScopeTypeMask"):
    """Where something can count: on the whole cluster, on one workspace."""

    cluster: Flag = False
    workspace: Flag = False


class Permission(Input, wire_name="v1Permission"):
    id: Needed[PermissionType] = PermissionType.UNSPECIFIED
    name: Name = ""
    scope_type_mask: ScopeTypeMask | None = None


class Role(Input, wire_name="v1Role"):
    """In requests the id counts, or the name where the id is 0."""

    role_id: Needed[Id] = 0
    name: Name = ""
    permissions: Annotated[tuple[Permission, ...], items(100)] = ()
    scope_type_mask: ScopeTypeMask | None = None


class RoleAssignment(Input, wire_name="v1RoleAssignment"):
    role: Needed[Role | None] = None
    scope_workspace_id: OrAbsent[Id] = None
    """Where the role counts; left out or 0: on the whole cluster."""
    scope_cluster: Flag = False
    """In requests it is ignored."""


class UserRoleAssignment(Input, wire_name="v1UserRoleAssignment"):
    user_id: Needed[Id] = 0
    role_assignment: Needed[RoleAssignment | None] = None


class GroupRoleAssignment(Input, wire_name="v1GroupRoleAssignment"):
    group_id: Needed[Id] = 0
    role_assignment: Needed[RoleAssignment | None] = None


class RoleWithAssignments(Message, wire_name="v1RoleWithAssignments"):
    """A role, and who holds it."""

    role: Role | None
    user_role_assignments: tuple[UserRoleAssignment, ...] = ()
    group_role_assignments: tuple[GroupRoleAssignment, ...] = ()


class RoleAssignmentSummary(Message, wire_name="v1RoleAssignmentSummary"):
    """Where one role is held."""

    role_id: int
    scope_workspace_ids: tuple[int, ...] = ()
    scope_cluster: bool = False


# ---------------------------------------------------------------- groups


class Group(Message, wire_name="v1Group"):
    group_id: int
    name: str


class GroupDetails(Message, wire_name="v1GroupDetails"):
    group_id: int
    name: str
    users: tuple[User, ...] = ()


class GroupSearchResult(Message, wire_name="v1GroupSearchResult"):
    group: Group | None
    num_members: int


class NewGroup(Input, wire_name="v1CreateGroupRequest"):
    name: Needed[Name] = ""
    add_users: Ids = ()


class CreateGroup(Request):
    body: InBody[NewGroup]


class NewGroupAnswer(Message, wire_name="v1CreateGroupResponse"):
    group: GroupDetails | None


class OneGroup(Request):
    group_id: InPath[Id]


class GroupAnswer(Message, wire_name="v1GetGroupResponse"):
    group: GroupDetails | None


class GroupsWanted(Input, wire_name="v1GetGroupsRequest"):
    limit: Needed[PageLimit] = 0
    """1 to 500."""
    offset: Offset = 0
    name: Name = ""
    """The whole name, with its case."""
    user_id: Id = 0
    """Groups that this user is a member of; 0 for any."""


class GetGroups(Request):
    body: InBody[GroupsWanted]


class GroupsAnswer(Message, wire_name="v1GetGroupsResponse"):
    groups: tuple[GroupSearchResult, ...]
    pagination: Pagination | None


class GroupChange(Input, wire_name="v1UpdateGroupRequest"):
    group_id: Needed[Id] = 0
    """The one in the path counts."""
    name: Name = ""
    """Empty: the group keeps its name."""
    add_users: Ids = ()
    remove_users: Ids = ()


class UpdateGroup(Request):
    group_id: InPath[Id]
    body: InBody[GroupChange]


class ChangedGroupAnswer(Message, wire_name="v1UpdateGroupResponse"):
    group: GroupDetails | None


class Memberships(Input, wire_name="v1AssignMultipleGroupsRequest"):
    """Users who have joined or left a group already stay as they are."""

    user_ids: Needed[Ids] = ()
    add_groups: Needed[Ids] = ()
    remove_groups: Needed[Ids] = ()


class AssignMultipleGroups(Request):
    body: InBody[Memberships]


# ---------------------------------------------------------------- roles


class RolesByIdWanted(Input, wire_name="v1GetRolesByIDRequest"):
    role_ids: Ids = ()


class GetRolesById(Request):
    body: InBody[RolesByIdWanted]


class RolesByIdAnswer(Message, wire_name="v1GetRolesByIDResponse"):
    roles: tuple[RoleWithAssignments, ...]


class RolesOfUser(Request):
    user_id: InPath[Id]


class RolesOfUserAnswer(Message, wire_name="v1GetRolesAssignedToUserResponse"):
    roles: tuple[RoleWithAssignments, ...]
    """The roles that the user holds himself, and those of his groups."""


class RolesOfGroup(Request):
    group_id: InPath[Id]


class RolesOfGroupAnswer(Message, wire_name="v1GetRolesAssignedToGroupResponse"):
    roles: tuple[Role, ...]
    assignments: tuple[RoleAssignmentSummary, ...]


class GetPermissionsSummary(Request):
    pass


class PermissionsSummaryAnswer(Message, wire_name="v1GetPermissionsSummaryResponse"):
    roles: tuple[Role, ...]
    assignments: tuple[RoleAssignmentSummary, ...]


class RolesWanted(Input, wire_name="v1ListRolesRequest"):
    limit: Needed[PageLimit] = 0
    """1 to 500."""
    offset: Offset = 0


class ListRoles(Request):
    body: InBody[RolesWanted]


class RolesAnswer(Message, wire_name="v1ListRolesResponse"):
    roles: tuple[Role, ...]
    pagination: Pagination


class AssignableWanted(Input, wire_name="v1SearchRolesAssignableToScopeRequest"):
    limit: Needed[PageLimit] = 0
    """1 to 500."""
    offset: Offset = 0
    workspace_id: Id | None = None
    """Roles that can be held on this workspace; left out or 0: on the whole cluster."""


class SearchAssignableRoles(Request):
    body: InBody[AssignableWanted]


class AssignableAnswer(Message, wire_name="v1SearchRolesAssignableToScopeResponse"):
    roles: tuple[Role, ...]
    pagination: Pagination | None


class NewAssignments(Input, wire_name="v1AssignRolesRequest"):
    user_role_assignments: Annotated[tuple[UserRoleAssignment, ...], items(1000)] = ()
    group_role_assignments: Annotated[tuple[GroupRoleAssignment, ...], items(1000)] = ()


class AssignRoles(Request):
    body: InBody[NewAssignments]


class GoneAssignments(Input, wire_name="v1RemoveAssignmentsRequest"):
    user_role_assignments: Annotated[tuple[UserRoleAssignment, ...], items(1000)] = ()
    group_role_assignments: Annotated[tuple[GroupRoleAssignment, ...], items(1000)] = ()


class RemoveAssignments(Request):
    body: InBody[GoneAssignments]


class RolesOnWorkspace(Request):
    workspace_id: InPath[Id]
    name: InQuery[Name] = ""
    """A part of the name of the group or the user, in any case of letters."""


class RolesOnWorkspaceAnswer(Message, wire_name="v1GetGroupsAndUsersAssignedToWorkspaceResponse"):
    groups: tuple[GroupDetails, ...]
    users_assigned_directly: tuple[User, ...]
    assignments: tuple[RoleWithAssignments, ...]
