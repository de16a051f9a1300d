"""Launching a task that is no trial: what a person submits is checked, its files are stored, and `tasks` is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from random import SystemRandom
from typing import Any

from resolute.api.call import Call
from resolute.api.experiments.files import archive_of
from resolute.api.experiments.placing import agent_user_at, submissions_of
from resolute.api.experiments.submission_messages import LaunchWarning
from resolute.api.interactive.messages import GetTasksOfKind, Launch, SortTasksBy
from resolute.api.interactive.queries import QUERIES, InteractiveQueries, Order, TaskRow, Wanted, WorkspaceRow
from resolute.api.kernel.common import OrderBy
from resolute.api.kernel.paging import Listed, Window
from resolute.api.pools.fit import check_fit, check_pool
from resolute.api.templates.using import template_named
from resolute.api.uploads import Packed
from resolute.config import Slots, TaskConfig, TaskDefaults, masked, parse_task, pool_of
from resolute.proto.errors import NotFound, refuse
from resolute.proto.interactive import CreateTask, KillTask, SetTaskPriority, TaskKind

FIRST_WORKSPACE = 1
"""Where tasks are that name no workspace: the workspace Uncategorized."""

ADJECTIVES = (
    "amber",
    "brisk",
    "calm",
    "clear",
    "cosmic",
    "gentle",
    "golden",
    "light",
    "quiet",
    "silver",
    "swift",
    "warm",
)
COLOURS = ("blue", "coral", "green", "grey", "indigo", "ivory", "lime", "olive", "pink", "red", "teal", "violet")
NOUNS = ("badger", "crane", "falcon", "finch", "heron", "lynx", "marten", "otter", "owl", "robin", "seal", "swan")
TITLES: Mapping[TaskKind, str] = {
    TaskKind.COMMAND: "Command",
    TaskKind.NOTEBOOK: "JupyterLab",
    TaskKind.SHELL: "Shell",
}
RUNS_ENTRYPOINT = frozenset({TaskKind.COMMAND})
"""The kinds whose configuration says what runs."""
MAY_BE_IDLE = frozenset({TaskKind.NOTEBOOK})
"""The kinds that can be ended because nobody uses them."""

LISTED_FOR = timedelta(days=1)
"""How long a task that has ended stays in the list."""

ORDERS: Mapping[SortTasksBy, Order] = {
    SortTasksBy.UNSPECIFIED: Order.ID,
    SortTasksBy.ID: Order.ID,
    SortTasksBy.DESCRIPTION: Order.NAME,
    SortTasksBy.START_TIME: Order.CREATED,
    SortTasksBy.WORKSPACE_ID: Order.WORKSPACE,
}


@dataclass(frozen=True, slots=True)
class Launched:
    task: TaskRow
    config: Mapping[str, Any]
    """As everybody may see it."""
    warnings: tuple[LaunchWarning, ...]


def queries_of(call: Call) -> InteractiveQueries:
    return call.gateway.ports.of(QUERIES)


async def launch(call: Call, kind: TaskKind, wanted: Launch) -> Launched:
    workspace = await _workspace(call, wanted.workspace_id or FIRST_WORKSPACE)
    code = await _code(call, wanted)
    config = await _config(call, kind, wanted, workspace, has_files=code is not None)
    check_pool("resources.resource_pool", config.pool, call.gateway.settings)
    slots = Slots(config.slots, config.slots)
    fits = await check_fit(call, "resources.slots", config.pool, slots, single_agent=True)
    enough = fits and config.slots <= await submissions_of(call).slots(config.pool)
    task_id = await _create(call, kind, config, workspace, code)
    return Launched(
        await known(call, kind, task_id),
        masked(config.merged, variables=False),
        () if enough else (LaunchWarning.CURRENT_SLOTS_EXCEEDED,),
    )


async def preview(call: Call, kind: TaskKind, wanted: Launch) -> Mapping[str, Any]:
    """The merged configuration of what would be launched. Nothing is."""
    workspace = await _workspace(call, wanted.workspace_id or FIRST_WORKSPACE)
    config = await _config(call, kind, wanted, workspace, has_files=bool(wanted.files))
    check_pool("resources.resource_pool", config.pool, call.gateway.settings)
    return masked(config.merged, variables=False)


async def _workspace(call: Call, workspace_id: int) -> WorkspaceRow:
    """Raises NotFound, and Refused for a workspace that takes no tasks."""
    await call.check_visible("workspace", str(workspace_id))
    row = await queries_of(call).workspace(workspace_id)
    if row is None or not call.scope.covers(workspace_id):
        raise NotFound(f"workspaceId: workspace {workspace_id} not found")
    what = f"start a task in workspace {row.name}"
    if row.archived:
        raise refuse(what, "it is archived", "unarchive it first")
    if row.leaving:
        raise refuse(what, "it is being deleted", "use another workspace")
    return row


async def _code(call: Call, wanted: Launch) -> bytes | Packed | None:
    upload = call.read.upload
    if upload is not None:
        return upload.packed
    return (await asyncio.to_thread(archive_of, wanted.files))[0]


async def _config(
    call: Call, kind: TaskKind, wanted: Launch, workspace: WorkspaceRow, *, has_files: bool
) -> TaskConfig:
    settings = call.gateway.settings
    compute = workspace.default_compute_pool or settings.default_pool
    aux = workspace.default_aux_pool or settings.aux_pool
    raw = wanted.config or {}
    defaults = TaskDefaults(
        description=f"{TITLES[kind]} ({_three_words()})",
        compute_pool=compute,
        aux_pool=aux,
        template=await template_named(call, wanted.template_name),
        task_container_defaults=settings.container_defaults(pool_of(raw, compute, aux)),
    )
    config = parse_task(
        raw, defaults, has_files=has_files, runs_entrypoint=kind in RUNS_ENTRYPOINT, may_be_idle=kind in MAY_BE_IDLE
    )
    if config.priority is not None:
        return config
    priority = settings.scheduler_of(config.pool).default_priority
    resources = {**config.merged["resources"], "priority": priority}
    return replace(config, priority=priority, merged={**config.merged, "resources": resources})


def _three_words() -> str:
    chance = SystemRandom()
    return "-".join(map(chance.choice, (ADJECTIVES, COLOURS, NOUNS)))


async def _create(
    call: Call, kind: TaskKind, config: TaskConfig, workspace: WorkspaceRow, code: bytes | Packed | None
) -> str:
    vault, owner, blobs = call.gateway.vault, call.principal, call.gateway.blobs
    sealed = await vault.sealed(config.merged, "", owner.user_id, {})
    context = None
    if code:
        context = await (blobs.put_file(code) if isinstance(code, Packed) else blobs.put(code))
    command = CreateTask(
        kind=kind,
        name=config.description,
        config=sealed.config,
        owner_id=owner.user_id,
        owner=owner.username,
        workspace_id=workspace.id,
        pool=config.pool,
        slots=config.slots,
        priority=config.priority,
        weight=config.weight,
        context=context,
        idle_timeout_s=config.idle_timeout_s,
        agent_user=await agent_user_at(call, workspace.agent_user_group),
    )
    async with vault.unless_refused(sealed):
        reply = await call.send(command)
    return str(reply.data["task_id"])


async def known(call: Call, kind: TaskKind, task_id: str) -> TaskRow:
    """Raises NotFound."""
    row = await queries_of(call).task(task_id)
    if row is None or row.kind != kind:
        raise NotFound(f"{kind.lower()} {task_id} not found")
    return row


async def kill(call: Call, kind: TaskKind, task_id: str) -> TaskRow:
    await known(call, kind, task_id)
    await call.send(KillTask(task_id, f"{call.principal.username} killed it"))
    return await known(call, kind, task_id)


async def set_priority(call: Call, kind: TaskKind, task_id: str, priority: int) -> TaskRow:
    await known(call, kind, task_id)
    await call.send(SetTaskPriority(task_id, priority))
    return await known(call, kind, task_id)


async def config_of(call: Call, task_id: str) -> Mapping[str, Any]:
    """As everybody may see it: environment variables are shown, other secrets are masked."""
    return masked(await queries_of(call).config(task_id) or {}, variables=False)


async def listed(call: Call, kind: TaskKind, request: GetTasksOfKind) -> Listed[TaskRow]:
    """The tasks of a kind that wait or run, and those that ended within the last day."""
    since = call.gateway.context.now() - LISTED_FOR
    return await queries_of(call).tasks(
        call.scope,
        Wanted(kind, since, request.user_ids, request.users, request.workspace_id),
        ORDERS[request.sort_by],
        descending=request.order_by is OrderBy.DESC,
        window=Window(request.offset, request.limit),
    )
