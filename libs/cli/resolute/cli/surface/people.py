"""`det user`: users and their passwords."""

from __future__ import annotations

from resolute.cli.surface.common import CSV_OR_JSON
from resolute.cli.tree import Command, arg, flag, truth

_WORD = "(true|false)"

USERS = Command(
    "user",
    "manage users",
    aliases=("u",),
    default="list",
    commands=(
        Command(
            "login",
            "log in user",
            run="user:login_",
            args=(arg("username", nargs="?", help="who to be; asked for when left out"),),
        ),
        Command(
            "logout",
            "log out user",
            run="user:logout",
            args=(flag("--all", "-a", help="everybody who is logged in at this master"),),
        ),
        Command("whoami", "print the active user", run="user:whoami"),
        Command(
            "list",
            "list users",
            run="user:list_",
            aliases=("ls",),
            args=(flag("--all", "-a", help="inactive users too"), CSV_OR_JSON),
        ),
        Command(
            "create",
            "create user",
            run="user:create",
            args=(
                arg("username", help="the name"),
                flag("--admin", help="with all rights"),
                arg("--password", help="the password; asked for when left out"),
                flag("--remote", help="known to a single sign-on provider only, without a password"),
            ),
        ),
        Command(
            "change-password",
            "change password for user",
            run="user:change_password",
            args=(arg("target_user", nargs="?", help="whose; your own when left out"),),
        ),
        Command("activate", "activate user", run="user:activate", args=(arg("username", help="the name"),)),
        Command("deactivate", "deactivate user", run="user:deactivate", args=(arg("username", help="the name"),)),
        Command(
            "edit",
            "edit user",
            run="user:edit",
            args=(
                arg("target_user", help="the name"),
                arg("--display-name", help="how to show the name"),
                arg("--username", help="a new name"),
                arg("--remote", type=truth, metavar=_WORD, help="without a password of its own"),
                arg("--active", dest="activate", type=truth, metavar=_WORD, help="may come in"),
                arg("--admin", type=truth, metavar=_WORD, help="with all rights"),
            ),
        ),
        Command(
            "link-with-agent-user",
            "say whom a user's tasks run as on the agents' hosts",
            run="user:link_with_agent_user",
            args=(
                arg("det_username", help="the name here"),
                arg("--agent-uid", type=int, help="the number of the user there; needed"),
                arg("--agent-user", help="the name of the user there"),
                arg("--agent-gid", type=int, help="the number of the group there; needed"),
                arg("--agent-group", help="the name of the group there"),
            ),
        ),
        Command(
            "rename",
            "change username for user",
            run="user:rename",
            args=(arg("target_user", help="the name"), arg("new_username", help="the new name")),
        ),
    ),
)

OF_DET = (USERS,)
