"""`det user-group` and `det rbac`: groups of users, and the roles that users and groups hold."""

from __future__ import annotations

from resolute.cli.surface.common import JSON, YES, paging
from resolute.cli.tree import Command, arg, flag

_GROUP = arg("group_name", help="name of the group")
_USERNAMES = arg("usernames", help="names of users, parted by commas")
_ROLE = arg("role_name", help="name of the role; `det rbac list-roles` shows them")
_WHOSE = (
    _ROLE,
    arg("-w", "--workspace-name", help="where the role counts; on the whole cluster when left out"),
    arg("-u", "--username-to-assign", help="the user who holds it"),
    arg("-g", "--group-name-to-assign", help="the group that holds it"),
)

USER_GROUPS = Command(
    "user-group",
    "manage groups of users",
    default="list",
    commands=(
        Command(
            "list",
            "list groups",
            run="user_group:list_",
            aliases=("ls",),
            args=(
                *paging(200),
                arg("--groups-user-belongs-to", metavar="username", help="only groups that this user is a member of"),
                JSON,
            ),
        ),
        Command("describe", "show a group and its members", run="user_group:describe", args=(_GROUP, JSON)),
        Command(
            "create",
            "create a group",
            run="user_group:create",
            args=(
                _GROUP,
                arg("--add-user", action="append", default=[], metavar="username", help="a member; may repeat"),
            ),
        ),
        Command("add-user", "add users to a group", run="user_group:add_user", args=(_GROUP, _USERNAMES)),
        Command("remove-user", "remove users from a group", run="user_group:remove_user", args=(_GROUP, _USERNAMES)),
        Command(
            "change-name",
            "rename a group",
            run="user_group:change_name",
            args=(arg("old_group_name", help="name of the group"), arg("new_group_name", help="its new name")),
        ),
        Command("delete", "delete a group", run="user_group:delete", args=(_GROUP, YES)),
    ),
)

RBAC = Command(
    "rbac",
    "manage roles",
    default="list-roles",
    commands=(
        Command("my-permissions", "show what you may do, and where", run="rbac:my_permissions", args=(JSON,)),
        Command(
            "list-roles",
            "list roles",
            run="rbac:list_roles",
            args=(
                flag("--exclude-global-roles", help="only roles that can be held on a workspace"),
                JSON,
                *paging(200),
            ),
        ),
        Command("describe-role", "show a role and who holds it", run="rbac:describe_role", args=(_ROLE, JSON)),
        Command(
            "list-users-roles",
            "show the roles of a user",
            run="rbac:list_users_roles",
            args=(arg("username", help="name of the user"), JSON),
        ),
        Command("list-groups-roles", "show the roles of a group", run="rbac:list_groups_roles", args=(_GROUP, JSON)),
        Command("assign-role", "give a role to a user or a group", run="rbac:assign_role", args=_WHOSE),
        Command("unassign-role", "take a role from a user or a group", run="rbac:unassign_role", args=_WHOSE),
    ),
)

OF_DET = (USER_GROUPS, RBAC)
