"""Commands: starting them, following them to their end, and what is done with them meanwhile."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from functools import partial
from typing import Any

from resolute.cli import logs, tasks_of_kind, terminal, workspaces
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.retrying import retry_while_unreachable
from resolute.cli.session import Session
from resolute.cli.tasks_of_kind import Kind

COMMAND = Kind("command")

_LOOK_EVERY_S = 0.1
_END_S = 60.0
"""How long the end of a command may take to be known after the end of its log."""


def run(args: Namespace) -> int | None:
    opened = session(args)
    command = tasks_of_kind.launch(opened, COMMAND, args, _config(args))["command"]
    if args.detach:
        print(command["id"])
        return None
    print(f"Launched command (id: {command['id']}, name: {command['description']}).")
    return _follow(opened, command["id"])


def _config(args: Namespace) -> dict[str, Any]:
    config = tasks_of_kind.config_of(args)
    words = [word for place, word in enumerate(args.entrypoint) if place or word != "--"]
    if words:
        config = {**config, "entrypoint": words}
    if not config.get("entrypoint"):
        raise CliError("what to run is missing: det cmd run echo hello")
    return config


def _follow(opened: Session, command_id: str) -> int:
    """Prints the log to its end. The exit status of the command, which an interruption leaves running."""
    try:
        query = {"limit": None, "orderBy": None}
        logs.show(logs.lines(opened, f"/api/v1/tasks/{command_id}/logs", query, follow=True), as_json=False)
        return _exit_status(opened, command_id)
    except KeyboardInterrupt:
        print(
            f"\nStopped printing; command {command_id} goes on. "
            f"Print again: det cmd logs -f {command_id}; stop it: det cmd kill {command_id}",
            file=sys.stderr,
        )
        return 3


def _exit_status(opened: Session, command_id: str) -> int:
    """1 for a command that ended without an exit code: it did not start, or its host went away."""
    until = time.monotonic() + _END_S
    while True:
        command = retry_while_unreachable(lambda: opened.get(COMMAND.path(command_id)))["command"]
        if command["state"] == "STATE_TERMINATED":
            break
        if time.monotonic() > until:
            raise CliError(f"command {command_id} has not ended {_END_S:g} s after its log: {command['state']}")
        time.sleep(_LOOK_EVERY_S)
    allocations = opened.get(f"/api/v1/tasks/{command_id}")["task"]["allocations"]
    code = allocations[0].get("statusCode") if allocations else None
    again = f"Task log stream ended. To reopen log stream, run: det task logs -f {command_id}"
    print(terminal.colour(again, "green", sys.stderr), file=sys.stderr)
    if code is None:
        print(f"Command {command_id} has no exit status: {command.get('exitStatus')}", file=sys.stderr)
        return 1
    return int(code) if code >= 0 else 128 - int(code)


def describe(args: Namespace) -> None:
    opened = session(args)
    command = opened.get(COMMAND.path(tasks_of_kind.whole_id(opened, COMMAND, args.command_id)))["command"]
    names = workspaces.names(opened)
    tasks_of_kind.show([{**command, "workspaceName": names.get(command["workspaceId"], "missing workspace")}], args)


list_ = partial(tasks_of_kind.list_, COMMAND)
config = partial(tasks_of_kind.config, COMMAND)
logs_ = partial(tasks_of_kind.logs_of, COMMAND)
kill = partial(tasks_of_kind.kill, COMMAND)
set_priority = partial(tasks_of_kind.set_priority, COMMAND)
