"""Commands: starting them, following them to their end, and what is done with them meanwhile."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from resolute.cli import logs, output, overrides, terminal, workspaces
from resolute.cli.commands.experiment_create import gather, read_config
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.retrying import retry_while_unreachable
from resolute.cli.session import Session

COMMANDS = "/api/v1/commands"

COLUMNS = ("id", "username", "description", "state", "exitStatus", "resourcePool", "workspaceName")

_WARNINGS = {
    "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED": "more slots are asked for than the pool has now; the command waits",
}
_LOOK_EVERY_S = 0.1
_END_S = 60.0
"""How long the end of a command may take to be known after the end of its log."""


def run(args: Namespace) -> int | None:
    opened = session(args)
    config = _config(args)
    workspace_id = workspaces.id_of(opened, args.workspace_name) if args.workspace_name else 0
    body = {
        "config": config,
        "files": gather(args.context, args.include, quiet=args.detach),
        "templateName": args.template or "",
        "workspaceId": workspace_id,
    }
    answer = opened.post(COMMANDS, body)
    for warning in answer.get("warnings") or []:
        print(f"Warning: {_WARNINGS.get(warning, warning)}", file=sys.stderr)
    command = answer["command"]
    if args.detach:
        print(command["id"])
        return None
    print(f"Launched command (id: {command['id']}, name: {command['description']}).")
    return _follow(opened, command["id"])


def _config(args: Namespace) -> dict[str, Any]:
    config = read_config(args.config_file, args.config)[1] if args.config_file else overrides.apply({}, args.config)
    words = [word for place, word in enumerate(args.entrypoint) if place or word != "--"]
    if words:
        config = {**config, "entrypoint": words}
    if not config.get("entrypoint"):
        raise CliError("what to run is missing: det cmd run echo hello")
    mounts = [*(config.get("bind_mounts") or ()), *map(_mount, args.volume)]
    return {**config, "bind_mounts": mounts} if mounts else config


def _mount(volume: str) -> dict[str, str]:
    host, colon, container = volume.partition(":")
    if not (host and colon and container):
        raise CliError(f"--volume {volume!r}: expected HOST:CONTAINER, as in /data:/data")
    return {"host_path": host, "container_path": container}


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
        command = retry_while_unreachable(lambda: opened.get(_path(command_id)))["command"]
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


def list_(args: Namespace) -> None:
    opened = session(args)
    query: dict[str, Any] = {} if args.all else {"users": [opened.get("/api/v1/me")["user"]["username"]]}
    if args.workspace_name:
        query["workspaceId"] = workspaces.id_of(opened, args.workspace_name)
    found = list(opened.pages(COMMANDS, "commands", query))
    names = workspaces.names(opened)
    rows = [{**one, "workspaceName": names.get(one["workspaceId"], "missing workspace")} for one in found]
    rows.sort(key=lambda row: str(row.get(args.sort_by)), reverse=args.order_by == "desc")
    if args.quiet:
        for row in rows:
            print(row["id"])
    else:
        _show(rows, args)


def describe(args: Namespace) -> None:
    opened = session(args)
    command = opened.get(_path(_whole_id(opened, args.command_id)))["command"]
    names = workspaces.names(opened)
    _show([{**command, "workspaceName": names.get(command["workspaceId"], "missing workspace")}], args)


def _show(rows: list[dict[str, Any]], args: Namespace) -> None:
    if args.json:
        output.show_json(rows)
        return
    shown = [[str(row.get(name, "")).removeprefix("STATE_") for name in COLUMNS] for row in rows]
    output.show_table(COLUMNS, shown, as_csv=args.csv)


def config(args: Namespace) -> None:
    opened = session(args)
    output.show_yaml(opened.get(_path(_whole_id(opened, args.command_id)))["config"])


def logs_(args: Namespace) -> None:
    query = logs.wanted(args)
    opened = session(args)
    command_id = _whole_id(opened, args.task_id)
    logs.show(logs.lines(opened, f"/api/v1/tasks/{command_id}/logs", query, follow=args.follow), as_json=args.json)


def kill(args: Namespace) -> int | None:
    opened = session(args)
    for place, given in enumerate(args.command_id):
        try:
            command_id = _whole_id(opened, given)
            opened.post(f"{_path(command_id)}/kill")
        except CliError as error:
            if not args.force:
                for other in args.command_id[place + 1 :]:
                    print(f"Cowardly not killing {other}", file=sys.stderr)
                raise
            print(f"Skipping {given}: {error}", file=sys.stderr)
        else:
            print(f"Killed command {command_id}")
    return None


def set_priority(args: Namespace) -> None:
    opened = session(args)
    command_id = _whole_id(opened, args.command_id)
    opened.post(f"{_path(command_id)}/set_priority", {"priority": args.priority})
    print(f"Set priority of command {command_id} to {args.priority}")


def _path(command_id: str) -> str:
    return f"{COMMANDS}/{command_id}"


def _whole_id(opened: Session, beginning: str) -> str:
    """A command by what its ID begins with; anything else is taken to be an ID."""
    found = sorted(_ids(opened, beginning))
    if beginning in found or not found:
        return beginning
    if len(found) > 1:
        raise CliError(f"{beginning!r} begins several IDs: {', '.join(found)}")
    return found[0]


def _ids(opened: Session, beginning: str) -> list[str]:
    if len(beginning) == 36:
        return [beginning]
    listed: list[Mapping[str, Any]] = list(opened.pages(COMMANDS, "commands"))
    return [str(one["id"]) for one in listed if str(one["id"]).startswith(beginning)]
