"""The routes of groups, roles and assignments."""

from __future__ import annotations

from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.rbac import groups, roles
from resolute.api.rbac import messages as m
from resolute.api.routing import ADMIN, SIGNED_IN

TAG = "RBAC"
INTERNAL = "Internal"

GROUPS = "/api/v1/groups"
GROUP = "/api/v1/groups/{groupId}"
SEARCH = "/api/v1/roles/search"

SEES_GROUPS = SIGNED_IN.to("group.view").outside()
EDITS_GROUPS = ADMIN.to("group.edit").outside()
SEES_ROLES = SIGNED_IN.to("role.view").outside()
ASSIGNS = (
    ADMIN.to("workspace.roles.assign")
    .about("workspace", "body.userRoleAssignments.roleAssignment.scopeWorkspaceId", optional=True)
    .about("workspace", "body.groupRoleAssignments.roleAssignment.scopeWorkspaceId", optional=True)
)
"""The handlers ask for more where a request names workspaces and the whole cluster."""

ROUTES = (
    operation(
        "CreateGroup",
        "POST",
        GROUPS,
        groups.create_group,
        EDITS_GROUPS,
        request=m.CreateGroup,
        response=m.NewGroupAnswer,
        tag=INTERNAL,
    ),
    operation(
        "GetGroups",
        "POST",
        "/api/v1/groups/search",
        groups.get_groups,
        SEES_GROUPS,
        request=m.GetGroups,
        response=m.GroupsAnswer,
        tag=INTERNAL,
    ),
    operation(
        "GetGroup",
        "GET",
        GROUP,
        groups.get_group,
        SEES_GROUPS,
        request=m.OneGroup,
        response=m.GroupAnswer,
        tag=INTERNAL,
    ),
    operation(
        "UpdateGroup",
        "PUT",
        GROUP,
        groups.update_group,
        EDITS_GROUPS,
        request=m.UpdateGroup,
        response=m.ChangedGroupAnswer,
        tag=INTERNAL,
    ),
    operation(
        "DeleteGroup",
        "DELETE",
        GROUP,
        groups.delete_group,
        EDITS_GROUPS,
        request=m.OneGroup,
        response=Empty,
        tag=INTERNAL,
    ),
    operation(
        "AssignMultipleGroups",
        "PATCH",
        "/api/v1/users/assignments",
        groups.assign_multiple_groups,
        EDITS_GROUPS,
        request=m.AssignMultipleGroups,
        response=Empty,
        tag=INTERNAL,
    ),
    operation(
        "GetPermissionsSummary",
        "GET",
        "/api/v1/permissions/summary",
        roles.get_permissions_summary,
        SIGNED_IN.oneself(),
        request=m.GetPermissionsSummary,
        response=m.PermissionsSummaryAnswer,
        tag=TAG,
    ),
    operation(
        "ListRoles",
        "POST",
        SEARCH,
        roles.list_roles,
        SEES_ROLES,
        request=m.ListRoles,
        response=m.RolesAnswer,
        tag=TAG,
    ),
    operation(
        "SearchRolesAssignableToScope",
        "POST",
        f"{SEARCH}/by-assignability",
        roles.search_assignable_roles,
        SIGNED_IN.to("workspace.view").about("workspace", "body.workspaceId", optional=True),
        request=m.SearchAssignableRoles,
        response=m.AssignableAnswer,
        tag=TAG,
    ),
    operation(
        "GetRolesByID",
        "POST",
        f"{SEARCH}/by-ids",
        roles.get_roles_by_id,
        SEES_ROLES,
        request=m.GetRolesById,
        response=m.RolesByIdAnswer,
        tag=TAG,
    ),
    operation(
        "GetRolesAssignedToUser",
        "GET",
        f"{SEARCH}/by-user/{{userId}}",
        roles.get_roles_of_user,
        SEES_ROLES,
        request=m.RolesOfUser,
        response=m.RolesOfUserAnswer,
        tag=TAG,
    ),
    operation(
        "GetRolesAssignedToGroup",
        "GET",
        f"{SEARCH}/by-group/{{groupId}}",
        roles.get_roles_of_group,
        SEES_ROLES,
        request=m.RolesOfGroup,
        response=m.RolesOfGroupAnswer,
        tag=TAG,
    ),
    operation(
        "GetGroupsAndUsersAssignedToWorkspace",
        "GET",
        "/api/v1/roles/workspace/{workspaceId}",
        roles.get_roles_on_workspace,
        SIGNED_IN.to("workspace.view").about("workspace", "workspaceId"),
        request=m.RolesOnWorkspace,
        response=m.RolesOnWorkspaceAnswer,
        tag=TAG,
    ),
    operation(
        "AssignRoles",
        "POST",
        "/api/v1/roles/add-assignments",
        roles.assign_roles,
        ASSIGNS,
        request=m.AssignRoles,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "RemoveAssignments",
        "POST",
        "/api/v1/roles/remove-assignments",
        roles.remove_assignments,
        ASSIGNS,
        request=m.RemoveAssignments,
        response=Empty,
        tag=TAG,
    ),
)
