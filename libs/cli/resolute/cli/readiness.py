"""Waiting for a task that serves people to say that it does."""

from __future__ import annotations

import sys
import time
from typing import Any

from resolute.cli import logs, terminal
from resolute.cli.errors import CliError
from resolute.cli.retrying import retry_while_unreachable
from resolute.cli.session import Session
from resolute.cli.tasks_of_kind import Kind

READY_S = 30 * 60.0
"""How long a task is waited for."""
LAST_LINES = 5
"""How much of the log of a task that has ended is shown."""
_LOOK_EVERY_S = 0.1
_SELDOM_S = 1.0
"""How often it is looked at that has not become ready within ten seconds."""
_SAY_EVERY_S = 30.0


def until_ready(opened: Session, kind: Kind, task_id: str) -> bool:
    """Waits, and says every half minute why. False where the task has ended."""
    began = said = time.monotonic()
    while True:
        task = retry_while_unreachable(lambda: opened.get(f"/api/v1/tasks/{task_id}"))["task"]
        if any(one.get("isReady") for one in task["allocations"]):
            return True
        if task.get("endTime"):
            print("Waiting stopped: task has been terminated.", file=sys.stderr)
            _show_why(opened, kind, task_id)
            return False
        now = time.monotonic()
        if now - began > READY_S:
            raise CliError(f"{kind.name} {task_id} is not ready after {READY_S / 60:g} minutes; it goes on starting")
        if now - said > _SAY_EVERY_S:
            said = now
            print(terminal.colour(f"still waiting: {_state(task)}", "yellow", sys.stderr), file=sys.stderr)
        time.sleep(_LOOK_EVERY_S if now - began < 10 else _SELDOM_S)


def _show_why(opened: Session, kind: Kind, task_id: str) -> None:
    query = {"limit": LAST_LINES, "orderBy": "ORDER_BY_DESC"}
    for line in logs.lines(opened, f"/api/v1/tasks/{task_id}/logs", query, follow=False):
        print(str(line["message"]).rstrip(), file=sys.stderr)
    print(f"All of its log: det {kind.name} logs {task_id}", file=sys.stderr)


def _state(task: dict[str, Any]) -> str:
    states = [str(one["state"]).removeprefix("STATE_") for one in task["allocations"]]
    return f"it is {states[-1] if states else 'QUEUED'}; det job list tells where it is in the queue"
