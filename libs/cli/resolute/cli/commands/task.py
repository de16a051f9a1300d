"""Tasks: what runs on the cluster now, and the log of any of it."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from resolute.cli import logs, output, times
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.session import Session
from resolute.proto.queue import PolicyName


def list_(args: Namespace) -> None:
    found = _allocations(session(args))
    if args.json:
        output.show_json({allocation["allocationId"]: allocation for allocation in found})
        return
    headers = [
        "Task ID", "Allocation ID", "Name", "Slots Needed", "Registered Time", "Agent", "Priority",
        "Resource Pool", "Ports",
    ]  # fmt: skip
    output.show_table(headers, [_row(each) for each in found], as_csv=args.csv)


def _row(allocation: dict[str, Any]) -> list[Any]:
    agents = {agent for resource in allocation.get("resources") or [] for agent in resource.get("agentDevices") or {}}
    return [
        allocation["taskId"],
        allocation["allocationId"],
        allocation.get("name"),
        allocation.get("slotsNeeded"),
        times.shown(allocation.get("registeredTime")),
        ", ".join(sorted(agents)) or "unassigned",
        allocation.get("priority") if allocation.get("schedulerType") == PolicyName.PRIORITY else "N/A",
        allocation.get("resourcePool"),
        ", ".join(str(proxy["port"]) for proxy in allocation.get("proxyPorts") or []),
    ]


def logs_(args: Namespace) -> None:
    query = logs.wanted(args)
    opened = session(args)
    task_id = _whole_id(opened, args.task_id)
    logs.show(logs.lines(opened, f"/api/v1/tasks/{task_id}/logs", query, follow=args.follow), as_json=args.json)


def clean_up_logs(args: Namespace) -> None:
    removed = int(session(args).post("/api/v1/cleanup_logs")["removedCount"])
    print(f"Removed {output.counted(removed, 'line')} of logs that were kept for long enough")


def _whole_id(opened: Session, beginning: str) -> str:
    """A running task by the beginning of its ID; anything else is taken to be an ID."""
    running = {str(each["taskId"]) for each in _allocations(opened)}
    found = sorted(task_id for task_id in running if task_id.startswith(beginning))
    if beginning in found or not found:
        return beginning
    if len(found) > 1:
        raise CliError(f"{beginning!r} begins several task IDs: {', '.join(found)}")
    return found[0]


def _allocations(opened: Session) -> list[dict[str, Any]]:
    found = (opened.get("/api/v1/tasks").get("allocationIdToSummary") or {}).values()
    return sorted(found, key=lambda each: (str(each.get("registeredTime")), str(each["allocationId"])))
