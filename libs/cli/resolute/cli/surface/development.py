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
            "bindings",
            "call operations of the REST API by their names",
            aliases=("b",),
            default="list",
            commands=(
                Command(
                    "call",
                    "call an operation, and print its answer",
                    run="bindings:call",
                    aliases=("c",),
                    args=(
                        flag("-y", "--auto-confirm", "--yes", help="send what may change something without asking"),
                        arg("name", help="the operation, as in get_GetMaster or GetMaster"),
                        arg("args", nargs=REMAINDER, help="its parameters, each as name=value; body=JSON"),
                    ),
                ),
                Command(
                    "list",
                    "list the operations of the master",
                    run="bindings:list_",
                    aliases=("ls",),
                    args=(flag("--show-unusable", help="list instead those that cannot be called by this"),),
                ),
            ),
        ),
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
