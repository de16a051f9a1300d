"""Shells: a task that people enter by ssh or by a terminal of its own, through `/proxy/<task>/`.

Whoever holds its private key runs programs as its owner: the owner alone is told it. Keys follow from the cluster's
secret and the shell's id (`shell_keys`), so that nothing secret is stored.
"""

from __future__ import annotations

from collections.abc import Mapping

from resolute.api.body_kinds import LAUNCH
from resolute.api.call import Call
from resolute.api.interactive import launching, shell_keys
from resolute.api.interactive import shell_messages as m
from resolute.api.interactive.queries import TaskRow
from resolute.api.kernel.common import Pagination
from resolute.api.kernel.operations import operation
from resolute.api.routing import SIGNED_IN, TASK
from resolute.api.tasks.shown import STATES
from resolute.proto.interactive import TaskKind
from resolute.service import tokens

KIND = TaskKind.SHELL

Addresses = tuple[Mapping[str, str], ...]


async def get_shells(call: Call, request: m.GetShells) -> m.ShellsAnswer:
    """The shells that wait or run, and those that ended within the last day."""
    found = await launching.listed(call, KIND, request)
    return m.ShellsAnswer(shells=tuple(map(_shown, found.rows)), pagination=Pagination.of(found.page))


async def get_shell(call: Call, request: m.OneShell) -> m.ShellAnswer:
    """One shell, with its configuration."""
    row = await launching.known(call, KIND, request.shell_id)
    return m.ShellAnswer(shell=_with_keys(call, row), config=await launching.config_of(call, row.task_id))


async def launch_shell(call: Call, request: m.LaunchShell) -> m.LaunchedShellAnswer:
    """Start a shell."""
    launched = await launching.launch(call, KIND, request.body)
    shell = _with_keys(call, launched.task)
    return m.LaunchedShellAnswer(shell=shell, config=launched.config, warnings=launched.warnings)


async def kill_shell(call: Call, request: m.OneShell) -> m.KilledShellAnswer:
    """End a shell, whether it runs or waits. One that has ended stays as it is."""
    return m.KilledShellAnswer(shell=_shown(await launching.kill(call, KIND, request.shell_id)))


async def set_shell_priority(call: Call, request: m.SetShellPriority) -> m.PrioritizedShellAnswer:
    """Change the priority of a shell in the queue of its pool."""
    row = await launching.set_priority(call, KIND, request.shell_id, request.body.priority)
    return m.PrioritizedShellAnswer(shell=_shown(row))


def _shown(row: TaskRow, public_key: str = "", private_key: str = "", addresses: Addresses = ()) -> m.Shell:
    return m.Shell(
        description=row.name,
        id=row.task_id,
        job_id=row.task_id,
        resource_pool=row.pool,
        start_time=row.created_at,
        state=STATES[row.state],
        username=row.owner,
        workspace_id=row.workspace_id,
        addresses=addresses,
        agent_user_group={"user": row.agent_user},
        display_name=row.owner,
        exit_status=row.exit_status,
        private_key=private_key,
        public_key=public_key,
        user_id=row.owner_id,
    )


def _with_keys(call: Call, row: TaskRow) -> m.Shell:
    """With what opens it, as far as the caller may know that."""
    secret, task = call.gateway.settings.secret.get_secret_value().encode(), call.principal.task
    pair = shell_keys.of(secret, row.task_id)
    owns = task is None and call.principal.user_id == row.owner_id
    itself = task is not None and task.task_id == row.task_id
    address = {"path": f"/proxy/{row.task_id}/", "token": tokens.of_service(secret, row.task_id)}
    return _shown(row, pair.public, pair.private if owns else "", (address,) if owns or itself else ())


TAG = "Shells"
SHELLS = "/api/v1/shells"
SHELL = "/api/v1/shells/{shellId}"

EDITS = SIGNED_IN.to("interactive.edit").about("shell", "shellId")

ROUTES = (
    operation(
        "GetShells",
        "GET",
        SHELLS,
        get_shells,
        SIGNED_IN.to("interactive.view").over_scope(),
        request=m.GetShells,
        response=m.ShellsAnswer,
        tag=TAG,
    ),
    operation(
        "LaunchShell",
        "POST",
        SHELLS,
        launch_shell,
        SIGNED_IN.to("interactive.create")
        .over_scope()
        .about("workspace", "body.workspaceId", optional=True)
        .about("template", "body.templateName", to="template.view", optional=True),
        request=m.LaunchShell,
        response=m.LaunchedShellAnswer,
        tag=TAG,
        body=LAUNCH,
    ),
    operation(
        "GetShell",
        "GET",
        SHELL,
        get_shell,
        (SIGNED_IN | TASK).to("interactive.view").about("shell", "shellId"),
        request=m.OneShell,
        response=m.ShellAnswer,
        tag=TAG,
    ),
    operation(
        "KillShell",
        "POST",
        f"{SHELL}/kill",
        kill_shell,
        EDITS,
        request=m.OneShell,
        response=m.KilledShellAnswer,
        tag=TAG,
    ),
    operation(
        "SetShellPriority",
        "POST",
        f"{SHELL}/set_priority",
        set_shell_priority,
        EDITS,
        request=m.SetShellPriority,
        response=m.PrioritizedShellAnswer,
        tag=TAG,
    ),
)
