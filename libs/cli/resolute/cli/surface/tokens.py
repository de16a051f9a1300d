"""`det token`: access tokens."""

from __future__ import annotations

from resolute.cli.surface.common import JSON_OR_YAML
from resolute.cli.tree import Command, arg, flag

_ID = arg("token_id", help="token ID")
_DESCRIPTION = arg("-d", "--description", help="what the token is for")

TOKENS = Command(
    "token",
    "manage access tokens",
    aliases=("tkn",),
    commands=(
        Command(
            "create",
            "create access token, which is shown this once",
            run="token:create",
            args=(
                arg("username", nargs="?", help="whom its bearer acts as; yourself otherwise"),
                arg("-e", "--expiration-days", type=int, help="how many days it counts; -1: as long as allowed"),
                _DESCRIPTION,
                JSON_OR_YAML,
            ),
        ),
        Command(
            "describe",
            "describe access tokens",
            run="token:describe",
            args=(arg("token_id", type=int, nargs="+", help="token IDs"), JSON_OR_YAML),
        ),
        Command("edit", "edit access token", run="token:edit", args=(_ID, _DESCRIPTION, JSON_OR_YAML)),
        Command(
            "list",
            "list access tokens",
            run="token:list_",
            aliases=("ls",),
            args=(
                arg("username", nargs="?", help="whose tokens; those of all users that you may see otherwise"),
                flag("--show-inactive", help="those that were revoked or have expired too"),
                JSON_OR_YAML,
            ),
        ),
        Command(
            "login",
            "use an access token from now on",
            run="token:login",
            args=(arg("token", help="the access token"),),
        ),
        Command("revoke", "revoke access token, for good", run="token:revoke", args=(_ID,)),
    ),
)

OF_DET = (TOKENS,)
