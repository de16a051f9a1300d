"""The messages about shells."""

from __future__ import annotations

from datetime import datetime

from resolute.api.experiments.submission_messages import LaunchWarning
from resolute.api.interactive.messages import GetTasksOfKind, Launch
from resolute.api.kernel.common import Id, Name, Pagination
from resolute.api.kernel.fields import JsonObject
from resolute.api.kernel.messages import InBody, InPath, Input, Message, Request
from resolute.api.pools.messages import Container
from resolute.api.tasks.messages import AllocationState


class Shell(Message, wire_name="v1Shell"):
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
    addresses: tuple[JsonObject, ...] = ()
    """How its terminal is reached that needs no sshd: `path` on the gateway, and the `token` that the terminal asks
    for. Told to the owner and to the shell itself alone."""
    agent_user_group: JsonObject | None = None
    """`user`: the name that ssh signs in with; empty for root."""
    display_name: str = ""
    exit_status: str = ""
    """Empty while it has not ended."""
    private_key: str = ""
    """What ssh signs in with, in OpenSSH's format: told to the owner alone."""
    public_key: str = ""
    """What sshd believes: a line of `authorized_keys`."""
    user_id: int = 0


class GetShells(GetTasksOfKind):
    pass


class ShellsAnswer(Message, wire_name="v1GetShellsResponse"):
    shells: tuple[Shell, ...]
    pagination: Pagination


class OneShell(Request):
    shell_id: InPath[Name]


class ShellAnswer(Message, wire_name="v1GetShellResponse"):
    shell: Shell
    config: JsonObject


class LaunchedShellAnswer(Message, wire_name="v1LaunchShellResponse"):
    shell: Shell
    config: JsonObject
    warnings: tuple[LaunchWarning, ...] = ()


class KilledShellAnswer(Message, wire_name="v1KillShellResponse"):
    shell: Shell


class LaunchShellBody(Launch, wire_name="v1LaunchShellRequest"):
    pass


class LaunchShell(Request):
    body: InBody[LaunchShellBody]


class ShellPriority(Input, wire_name="v1SetShellPriorityRequest"):
    shell_id: Name = ""
    """The id in the path counts."""
    priority: Id = 0


class SetShellPriority(Request):
    shell_id: InPath[Name]
    body: InBody[ShellPriority]


class PrioritizedShellAnswer(Message, wire_name="v1SetShellPriorityResponse"):
    shell: Shell
