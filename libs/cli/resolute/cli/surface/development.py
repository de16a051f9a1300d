"""`det dev`: for people who write programs against the master."""

from __future__ import annotations

from argparse import REMAINDER

from resolute.cli.tree import Command, arg, flag

DEV = Command(
    "dev",
    "develop against the master",
    commands=(
        Command("auth-token", "print the token of the active user", run="dev:auth_token"),
        Command(
            "curl",
            "send a request with curl, logged in",
            run="dev:curl",
            aliases=("c",),
            args=(
                flag("-x", help="print the command that is run"),
                arg("path", help="the path, as in /api/v1/me"),
                arg("curl_args", nargs=REMAINDER, help="further arguments for curl"),
            ),
        ),
    ),
)

OF_DET = (DEV,)
