"""`det command`, `det notebook` and `det shell`: tasks that are no trials."""

from __future__ import annotations

from argparse import REMAINDER
from pathlib import Path

from resolute.cli.surface.common import CSV_OR_JSON, JSON, OF_TASKS, log_options
from resolute.cli.tree import Arg, Command, arg, existing_file, flag

LAUNCHES: tuple[Arg, ...] = (
    arg("--config-file", type=existing_file, help="configuration (.yaml)"),
    arg("--config", action="append", default=[], help="set one field: key=value"),
    arg("-v", "--volume", action="append", default=[], help="mount a host directory: HOST:CONTAINER"),
    arg("-c", "--context", type=Path, help="directory whose contents are sent along"),
    arg("-i", "--include", action="append", type=Path, default=[], help="file or directory to send along"),
    arg("-w", "--workspace-name", help="the workspace that it belongs to; Uncategorized otherwise"),
    arg("--template", help="template to build the configuration on"),
    flag("-d", "--detach", help="print its ID, and do not wait for it"),
)


def _id(kind: str) -> Arg:
    return arg(f"{kind}_id", help=f"{kind} ID, or what it alone begins with")


def _of_kind(kind: str, plural: str, logs: str) -> tuple[Command, ...]:
    """What can be done with tasks of every kind, in the module `kind`."""
    return (
        Command(
            "list",
            f"list {plural}",
            run=f"{kind}:list_",
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
        Command("config", f"display {kind} config", run=f"{kind}:config", args=(_id(kind),)),
        Command(
            "logs",
            f"fetch {kind} logs",
            run=f"{kind}:logs_",
            args=(arg("task_id", metavar=f"{kind}_id", help=logs), JSON, *log_options(), *OF_TASKS),
        ),
        Command(
            "kill",
            f"kill {plural}",
            run=f"{kind}:kill",
            args=(
                arg(f"{kind}_id", nargs="+", help=f"{kind} ID"),
                flag("-f", "--force", help="go on with the others when one cannot be killed"),
            ),
        ),
        Command(
            "set",
            f"set {kind} attributes",
            commands=(
                Command(
                    "priority",
                    f"set {kind} priority",
                    run=f"{kind}:set_priority",
                    args=(_id(kind), arg("priority", type=int, help="1 is the first in the queue, 99 the last")),
                ),
            ),
        ),
    )


COMMANDS = Command(
    "command",
    "manage commands",
    aliases=("cmd",),
    default="list",
    commands=(
        *_of_kind("command", "commands", "command ID"),
        Command("describe", "display command", run="command:describe", args=(_id("command"), CSV_OR_JSON)),
        Command(
            "run",
            "run a command; its exit status is that of det",
            run="command:run",
            args=(
                arg("entrypoint", nargs=REMAINDER, help="the command and its arguments; one word is a shell's line"),
                *LAUNCHES,
            ),
        ),
    ),
)

NOTEBOOKS = Command(
    "notebook",
    "manage notebooks",
    default="list",
    commands=(
        *_of_kind("notebook", "notebooks", "notebook ID"),
        Command("open", "open a notebook in a browser", run="notebook:open_", args=(_id("notebook"),)),
        Command(
            "start",
            "start a notebook, and open it when it is ready",
            run="notebook:start",
            args=(
                *LAUNCHES,
                flag("--no-browser", help="print the address, and open no browser"),
                flag("--preview", help="print the configuration that it would have, and start nothing"),
            ),
        ),
    ),
)

_SSH_OPTIONS = arg("ssh_opts", nargs="*", help="further options of ssh, after --; -- -L 8080:localhost:8080")
_SHOWS_COMMAND = flag("--show-ssh-command", help="print the command that ssh is started with, and keep the key for it")
_VIEWS = (
    flag("--terminal", help="open the shell's own terminal, even where its image has sshd"),
    arg("--session", help="the session of the shell's own terminal to open; main otherwise"),
)

SHELLS = Command(
    "shell",
    "manage shells",
    default="list",
    commands=(
        *_of_kind("shell", "shells", "shell ID"),
        Command(
            "open",
            "open a shell, by ssh or in its own terminal",
            run="shell:open_",
            args=(_id("shell"), _SSH_OPTIONS, _SHOWS_COMMAND, *_VIEWS),
        ),
        Command(
            "show-ssh-command",
            "print the command that opens a shell, for editors and scripts",
            run="shell:show_ssh_command",
            args=(_id("shell"), _SSH_OPTIONS),
        ),
        Command(
            "show_ssh_command",
            "the old name of show-ssh-command",
            run="shell:show_ssh_command_by_its_old_name",
            args=(_id("shell"), _SSH_OPTIONS),
            hidden=True,
        ),
        Command(
            "start",
            "start a shell, and open it when it is ready",
            run="shell:start",
            args=(_SSH_OPTIONS, *LAUNCHES, _SHOWS_COMMAND, *_VIEWS),
        ),
    ),
)

OF_DET = (COMMANDS, NOTEBOOKS, SHELLS)
