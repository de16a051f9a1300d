"""Tasks that are no trials: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Document, Place, Projection, Rows, Table, Thing, WholeRows
from resolute.proto import streams
from resolute.proto.interactive import TaskCreated, TaskEnded, TaskKillRequested, TaskKind, TaskReady
from resolute.proto.message import Event, Recorded


@dataclass(frozen=True, slots=True)
class Task:
    task_id: str
    kind: str
    allocation_id: str
    name: str
    owner_id: int
    owner: str
    workspace_id: int
    pool: str
    config: Document
    context: str | None
    created_at: datetime
    ended_at: datetime | None = None
    ready: bool = False
    """Whether what runs in it has said that it serves people."""
    killed: bool = False
    """Whether somebody asked it to end."""
    outcome: str = ""
    exit_code: int | None = None
    reason: str = ""
    agent_user: str = ""
    """The user of the host as whom it runs; empty where nobody chose one."""


TASKS = Table("tasks", Task, key=("task_id",))


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


def _created(created: TaskCreated, recorded: Recorded, rows: Rows) -> None:
    task = Task(
        task_id=recorded.key,
        kind=created.kind,
        allocation_id=created.allocation_id,
        name=created.name,
        owner_id=created.owner_id,
        owner=created.owner,
        workspace_id=created.workspace_id,
        pool=created.pool,
        config=created.config,
        context=created.context,
        created_at=recorded.recorded_at,
        agent_user="" if created.agent_user is None else created.agent_user.user,
    )
    rows.put(TASKS, task)


def _ready(_: TaskReady, recorded: Recorded, rows: Rows) -> None:
    rows.change(TASKS, recorded.key, ready=True)


def _kill_requested(_: TaskKillRequested, recorded: Recorded, rows: Rows) -> None:
    rows.change(TASKS, recorded.key, killed=True)


def _ended(ended: TaskEnded, recorded: Recorded, rows: Rows) -> None:
    rows.change(
        TASKS,
        recorded.key,
        ended_at=recorded.recorded_at,
        outcome=ended.outcome,
        exit_code=ended.exit_code,
        reason=ended.reason,
    )


SHOWS: Mapping[type[Event], Callable[[Any, Recorded, Rows], None]] = {
    TaskCreated: _created,
    TaskReady: _ready,
    TaskKillRequested: _kill_requested,
    TaskEnded: _ended,
}

WHOSE_TASK = "SELECT owner_id, workspace_id FROM read_interactive.tasks WHERE task_id = "
"""Followed by the id of a task: its owner and its workspace."""

WORKSPACE_OF_TASK = "(SELECT home.workspace_id FROM read_interactive.tasks home WHERE home.task_id = {})"
"""For the conditions of a list (`kernel.listing.Where`)."""


def whose_task(rows: WholeRows, task_id: str, kind: str = "") -> Place | None:
    """What `WHOSE_TASK` answers, from rows that are in memory. `kind`: empty for any."""
    row = rows.get(TASKS, task_id)
    return None if row is None or kind not in ("", row.kind) else Place(row.owner_id, row.workspace_id)


PROJECTION = Projection(
    slice="interactive",
    version=3,
    tables=(TASKS,),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.TASK.name}),
    project=project,
    things={
        kind.lower(): Thing(f"{WHOSE_TASK}$1 AND kind = '{kind}'", twin=partial(whose_task, kind=kind))
        for kind in TaskKind
    },
    ids={f"{kind.lower()}Id": (TASKS, "task_id") for kind in TaskKind},
)
