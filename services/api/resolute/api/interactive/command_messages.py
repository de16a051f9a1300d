"""The messages about commands."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.experiments.submission_messages import LaunchWarning
from resolute.api.interactive.messages import SortTasksBy
from resolute.api.kernel.common import Id, Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import JsonObject, items
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request
from resolute.api.pools.messages import Container
from resolute.api.tasks.messages import AllocationState

UserIds = Annotated[tuple[Id, ...], items(1000)]
Users = Annotated[tuple[Name, ...], items(1000)]


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


class GetCommands(Request):
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    sort_by: InQuery[SortTasksBy] = SortTasksBy.UNSPECIFIED
    user_ids: InQuery[UserIds] = ()
    users: InQuery[Users] = ()
    """Names of users."""
    workspace_id: InQuery[Id] = 0


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
