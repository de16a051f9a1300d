"""Commands: programs that run once, with the slots that they ask for."""

from __future__ import annotations

from resolute.api.body_kinds import LAUNCH
from resolute.api.call import Call
from resolute.api.interactive import command_messages as m
from resolute.api.interactive import launching
from resolute.api.interactive.messages import LaunchTask
from resolute.api.interactive.queries import TaskRow
from resolute.api.kernel.common import Pagination
from resolute.api.kernel.operations import operation
from resolute.api.routing import SIGNED_IN
from resolute.api.tasks.shown import STATES
from resolute.proto.interactive import TaskKind

KIND = TaskKind.COMMAND


async def get_commands(call: Call, request: m.GetCommands) -> m.CommandsAnswer:
    """The commands that wait or run, and those that ended within the last day."""
    found = await launching.listed(call, KIND, request)
    return m.CommandsAnswer(commands=tuple(map(_shown, found.rows)), pagination=Pagination.of(found.page))


async def get_command(call: Call, request: m.OneCommand) -> m.CommandAnswer:
    """One command, with its configuration."""
    row = await launching.known(call, KIND, request.command_id)
    return m.CommandAnswer(command=_shown(row), config=await launching.config_of(call, row.task_id))


async def launch_command(call: Call, request: LaunchTask) -> m.LaunchedCommandAnswer:
    """Start a command."""
    launched = await launching.launch(call, KIND, request.body)
    return m.LaunchedCommandAnswer(command=_shown(launched.task), config=launched.config, warnings=launched.warnings)


async def kill_command(call: Call, request: m.OneCommand) -> m.KilledCommandAnswer:
    """End a command, whether it runs or waits. One that has ended stays as it is."""
    return m.KilledCommandAnswer(command=_shown(await launching.kill(call, KIND, request.command_id)))


async def set_command_priority(call: Call, request: m.SetCommandPriority) -> m.PrioritizedCommandAnswer:
    """Change the priority of a command in the queue of its pool."""
    row = await launching.set_priority(call, KIND, request.command_id, request.body.priority)
    return m.PrioritizedCommandAnswer(command=_shown(row))


def _shown(row: TaskRow) -> m.Command:
    return m.Command(
        description=row.name,
        id=row.task_id,
        job_id=row.task_id,
        resource_pool=row.pool,
        start_time=row.created_at,
        state=STATES[row.state],
        username=row.owner,
        workspace_id=row.workspace_id,
        display_name=row.owner,
        exit_status=row.exit_status,
        user_id=row.owner_id,
    )


TAG = "Commands"
COMMANDS = "/api/v1/commands"
COMMAND = "/api/v1/commands/{commandId}"

EDITS = SIGNED_IN.to("interactive.edit").about("command", "commandId")

ROUTES = (
    operation(
        "GetCommands",
        "GET",
        COMMANDS,
        get_commands,
        SIGNED_IN.to("interactive.view").over_scope(),
        request=m.GetCommands,
        response=m.CommandsAnswer,
        tag=TAG,
    ),
    operation(
        "LaunchCommand",
        "POST",
        COMMANDS,
        launch_command,
        SIGNED_IN.to("interactive.create")
        .over_scope()
        .about("workspace", "body.workspaceId", optional=True)
        .about("template", "body.templateName", to="template.view", optional=True),
        request=LaunchTask,
        response=m.LaunchedCommandAnswer,
        tag=TAG,
        body=LAUNCH,
    ),
    operation(
        "GetCommand",
        "GET",
        COMMAND,
        get_command,
        SIGNED_IN.to("interactive.view").about("command", "commandId"),
        request=m.OneCommand,
        response=m.CommandAnswer,
        tag=TAG,
    ),
    operation(
        "KillCommand",
        "POST",
        f"{COMMAND}/kill",
        kill_command,
        EDITS,
        request=m.OneCommand,
        response=m.KilledCommandAnswer,
        tag=TAG,
    ),
    operation(
        "SetCommandPriority",
        "POST",
        f"{COMMAND}/set_priority",
        set_command_priority,
        EDITS,
        request=m.SetCommandPriority,
        response=m.PrioritizedCommandAnswer,
        tag=TAG,
    ),
)
