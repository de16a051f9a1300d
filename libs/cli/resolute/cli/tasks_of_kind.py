"""What can be done with tasks that are no trials, of whichever kind: listing, showing, logs, killing, priorities."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from resolute.cli import logs, output, overrides, workspaces
from resolute.cli.commands.experiment_create import gather, read_config
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.session import Session

COLUMNS = ("id", "username", "description", "state", "exitStatus", "resourcePool", "workspaceName")

_WARNINGS = {
    "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED": "more slots are asked for than the pool has now; it waits",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of task, as the wire has it: `notebook` at `/api/v1/notebooks`."""

    name: str

    @property
    def url(self) -> str:
        return f"/api/v1/{self.name}s"

    def path(self, task_id: str) -> str:
        return f"{self.url}/{task_id}"


def launch(opened: Session, kind: Kind, args: Namespace, config: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Starts a task with the files and the place that the arguments name. The gateway's whole answer."""
    workspace_id = workspaces.id_of(opened, args.workspace_name) if args.workspace_name else 0
    body = {
        "config": config,
        "files": gather(args.context, args.include, quiet=args.detach),
        "templateName": args.template or "",
        "workspaceId": workspace_id,
        **more,
    }
    answer: dict[str, Any] = opened.post(kind.url, body)
    for warning in answer.get("warnings") or []:
        print(f"Warning: {_WARNINGS.get(warning, warning)}", file=sys.stderr)
    return answer


def config_of(args: Namespace) -> dict[str, Any]:
    """The configuration of the file and of single fields, with the mounts."""
    config = read_config(args.config_file, args.config)[1] if args.config_file else overrides.apply({}, args.config)
    mounts = [*(config.get("bind_mounts") or ()), *map(_mount, args.volume)]
    return {**config, "bind_mounts": mounts} if mounts else dict(config)


def _mount(volume: str) -> dict[str, str]:
    host, colon, container = volume.partition(":")
    if not (host and colon and container):
        raise CliError(f"--volume {volume!r}: expected HOST:CONTAINER, as in /data:/data")
    return {"host_path": host, "container_path": container}


def list_(kind: Kind, args: Namespace) -> None:
    opened = session(args)
    query: dict[str, Any] = {} if args.all else {"users": [opened.get("/api/v1/me")["user"]["username"]]}
    if args.workspace_name:
        query["workspaceId"] = workspaces.id_of(opened, args.workspace_name)
    found = list(opened.pages(kind.url, f"{kind.name}s", query))
    names = workspaces.names(opened)
    rows = [{**one, "workspaceName": names.get(one["workspaceId"], "missing workspace")} for one in found]
    rows.sort(key=lambda row: str(row.get(args.sort_by)), reverse=args.order_by == "desc")
    if args.quiet:
        for row in rows:
            print(row["id"])
    else:
        show(rows, args)


def show(rows: list[dict[str, Any]], args: Namespace) -> None:
    if args.json:
        output.show_json(rows)
        return
    shown = [[str(row.get(name, "")).removeprefix("STATE_") for name in COLUMNS] for row in rows]
    output.show_table(COLUMNS, shown, as_csv=args.csv)


def config(kind: Kind, args: Namespace) -> None:
    opened = session(args)
    output.show_yaml(opened.get(kind.path(whole_id(opened, kind, given(kind, args))))["config"])


def logs_of(kind: Kind, args: Namespace) -> None:
    query = logs.wanted(args)
    opened = session(args)
    task_id = whole_id(opened, kind, args.task_id)
    logs.show(logs.lines(opened, f"/api/v1/tasks/{task_id}/logs", query, follow=args.follow), as_json=args.json)


def kill(kind: Kind, args: Namespace) -> int | None:
    opened = session(args)
    ids = given(kind, args)
    for place, one in enumerate(ids):
        try:
            task_id = whole_id(opened, kind, one)
            opened.post(f"{kind.path(task_id)}/kill")
        except CliError as error:
            if not args.force:
                for other in ids[place + 1 :]:
                    print(f"Cowardly not killing {other}", file=sys.stderr)
                raise
            print(f"Skipping {one}: {error}", file=sys.stderr)
        else:
            print(f"Killed {kind.name} {task_id}")
    return None


def set_priority(kind: Kind, args: Namespace) -> None:
    opened = session(args)
    task_id = whole_id(opened, kind, given(kind, args))
    opened.post(f"{kind.path(task_id)}/set_priority", {"priority": args.priority})
    print(f"Set priority of {kind.name} {task_id} to {args.priority}")


def given(kind: Kind, args: Namespace) -> Any:
    """The ID, or the IDs, that the arguments name."""
    return getattr(args, f"{kind.name}_id")


def whole_id(opened: Session, kind: Kind, beginning: str) -> str:
    """A task by what its ID begins with; anything else is taken to be an ID."""
    found = sorted(_ids(opened, kind, beginning))
    if beginning in found or not found:
        return beginning
    if len(found) > 1:
        raise CliError(f"{beginning!r} begins several IDs: {', '.join(found)}")
    return found[0]


def _ids(opened: Session, kind: Kind, beginning: str) -> list[str]:
    if len(beginning) == 36:
        return [beginning]
    listed: list[Mapping[str, Any]] = list(opened.pages(kind.url, f"{kind.name}s"))
    return [str(one["id"]) for one in listed if str(one["id"]).startswith(beginning)]
