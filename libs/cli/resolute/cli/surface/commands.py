"""`det command`: programs that run once on the cluster."""

from __future__ import annotations

from argparse import REMAINDER
from pathlib import Path

from resolute.cli.surface.common import CSV_OR_JSON, JSON, OF_TASKS, log_options
from resolute.cli.tree import Command, arg, existing_file, flag

_COMMAND = arg("command_id", help="command ID, or what it alone begins with")

COMMANDS = Command(
    "command",
    "manage commands",
    aliases=("cmd",),
    default="list",
    commands=(
        Command(
            "list",
            "list commands",
            run="command:list_",
            aliases=("ls",),
            args=(
                flag("-q", "--quiet", help="print the IDs only"),
                flag("-a", "--all", help="show those of all users"),
                arg("-w", "--workspace-name", help="show those of this workspace only"),
                arg(
                    "--sort-by",
                    choices=(
                        *("id", "username", "description", "state"),
                        *("exitStatus", "resourcePool", "workspaceName", "startTime"),
                    ),
                    default="startTime",
                    help="what to order the list by",
                ),
                arg("--order-by", choices=("asc", "desc"), default="asc", help="in which direction"),
                CSV_OR_JSON,
            ),
        ),
        Command("describe", "display command", run="command:describe", args=(_COMMAND, CSV_OR_JSON)),
        Command("config", "display command config", run="command:config", args=(_COMMAND,)),
        Command(
            "run",
            "run a command; its exit status is that of det",
            run="command:run",
            args=(
                arg("entrypoint", nargs=REMAINDER, help="the command and its arguments; one word is a shell's line"),
                arg("--config-file", type=existing_file, help="configuration (.yaml)"),
                arg("--config", action="append", default=[], help="set one field: key=value"),
                arg("-v", "--volume", action="append", default=[], help="mount a host directory: HOST:CONTAINER"),
                arg("-c", "--context", type=Path, help="directory whose contents are sent along"),
                arg("-i", "--include", action="append", type=Path, default=[], help="file or directory to send along"),
                arg("-w", "--workspace-name", help="the workspace that it belongs to; Uncategorized otherwise"),
                arg("--template", help="template to build the configuration on"),
                flag("-d", "--detach", help="print its ID, and do not wait for it"),
            ),
        ),
        Command(
            "logs",
            "fetch command logs",
            run="command:logs_",
            args=(arg("task_id", metavar="command_id", help="command ID"), JSON, *log_options(), *OF_TASKS),
        ),
        Command(
            "kill",
            "kill commands",
            run="command:kill",
            args=(
                arg("command_id", nargs="+", help="command ID"),
                flag("-f", "--force", help="go on with the others when one cannot be killed"),
            ),
        ),
        Command(
            "set",
            "set command attributes",
            commands=(
                Command(
                    "priority",
                    "set command priority",
                    run="command:set_priority",
                    args=(_COMMAND, arg("priority", type=int, help="1 is the first in the queue, 99 the last")),
                ),
            ),
        ),
    ),
)

OF_DET = (COMMANDS,)
