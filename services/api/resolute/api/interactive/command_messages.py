"""The messages about commands."""

from __future__ import annotations

from datetime import datetime

from resolute.api.experiments.submission_messages import LaunchWarning
from resolute.api.interactive.messages import GetTasksOfKind
from resolute.api.kernel.common import Id, Name, Pagination
from resolute.api.kernel.fields import JsonObject
from resolute.api.kernel.messages import InBody, InPath, Input, Message, Request
from resolute.api.pools.messages import Container
from resolute.api.tasks.messages import AllocationState


class Command(Message, wire_name="v1Command"):
    description: str
    id: str
    job_id: str
    resource_pool: str
    start_time: datetime
    state: AllocationState
    username: str
    workspace_id: int
    container: Container | None = None
    """Not told here: `GetTasks` says on which agent it runs."""
    display_name: str = ""
    exit_status: str = ""
    """Empty while it has not ended."""
    user_id: int = 0


class GetCommands(GetTasksOfKind):
    pass


class CommandsAnswer(Message, wire_name="v1GetCommandsResponse"):
    commands: tuple[Command, ...]
    pagination: Pagination


class OneCommand(Request):
    command_id: InPath[Name]


class CommandAnswer(Message, wire_name="v1GetCommandResponse"):
    command: Command
    config: JsonObject


class LaunchedCommandAnswer(Message, wire_name="v1LaunchCommandResponse"):
    command: Command
    config: JsonObject
    warnings: tuple[LaunchWarning, ...] = ()


class KilledCommandAnswer(Message, wire_name="v1KillCommandResponse"):
    command: Command


class Priority(Input, wire_name="v1SetCommandPriorityRequest"):
    command_id: Name = ""
    """The id in the path counts."""
    priority: Id = 0


class SetCommandPriority(Request):
    command_id: InPath[Name]
    body: InBody[Priority]


class PrioritizedCommandAnswer(Message, wire_name="v1SetCommandPriorityResponse"):
    command: Command
