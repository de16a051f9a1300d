"""The messages about notebooks."""

from __future__ import annotations

from datetime import datetime

from resolute.api.experiments.submission_messages import LaunchWarning
from resolute.api.interactive.messages import GetTasksOfKind, Launch
from resolute.api.kernel.common import Id, Name, Pagination
from resolute.api.kernel.fields import Flag, JsonObject
from resolute.api.kernel.messages import InBody, InPath, Input, Message, Request
from resolute.api.pools.messages import Container
from resolute.api.tasks.messages import AllocationState


class Notebook(Message, wire_name="v1Notebook"):
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
    service_address: str = ""
    """Its path on the gateway. Its owner is also told what Jupyter asks for."""
    user_id: int = 0


class LaunchNotebookBody(Launch, wire_name="v1LaunchNotebookRequest"):
    preview: Flag = False
    """Answer with the merged configuration, and start nothing."""


class LaunchNotebook(Request):
    body: InBody[LaunchNotebookBody]


class GetNotebooks(GetTasksOfKind):
    pass


class NotebooksAnswer(Message, wire_name="v1GetNotebooksResponse"):
    notebooks: tuple[Notebook, ...]
    pagination: Pagination


class OneNotebook(Request):
    notebook_id: InPath[Name]


class NotebookAnswer(Message, wire_name="v1GetNotebookResponse"):
    notebook: Notebook
    config: JsonObject


class LaunchedNotebookAnswer(Message, wire_name="v1LaunchNotebookResponse"):
    notebook: Notebook | None
    """Null for a preview."""
    config: JsonObject
    warnings: tuple[LaunchWarning, ...] = ()


class KilledNotebookAnswer(Message, wire_name="v1KillNotebookResponse"):
    notebook: Notebook


class NotebookPriority(Input, wire_name="v1SetNotebookPriorityRequest"):
    notebook_id: Name = ""
    """The id in the path counts."""
    priority: Id = 0


class SetNotebookPriority(Request):
    notebook_id: InPath[Name]
    body: InBody[NotebookPriority]


class PrioritizedNotebookAnswer(Message, wire_name="v1SetNotebookPriorityResponse"):
    notebook: Notebook


class IdleReport(Input, wire_name="v1IdleNotebookRequest"):
    idle: Flag = False
    notebook_id: Name = ""
    """The id in the path counts."""


class IdleNotebook(Request):
    notebook_id: InPath[Name]
    body: InBody[IdleReport]
