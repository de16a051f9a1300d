"""Notebooks: JupyterLab in a task, reached through `/proxy/<task>/`."""

from __future__ import annotations

from resolute.api.body_kinds import LAUNCH
from resolute.api.call import Call
from resolute.api.interactive import launching
from resolute.api.interactive import notebook_messages as m
from resolute.api.interactive.queries import TaskRow
from resolute.api.kernel.common import Pagination
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.routing import SIGNED_IN, TASK
from resolute.api.tasks.shown import STATES
from resolute.proto.interactive import TaskKind
from resolute.service import tokens

KIND = TaskKind.NOTEBOOK


async def get_notebooks(call: Call, request: m.GetNotebooks) -> m.NotebooksAnswer:
    """The notebooks that wait or run, and those that ended within the last day."""
    found = await launching.listed(call, KIND, request)
    return m.NotebooksAnswer(
        notebooks=tuple(_shown(call, row) for row in found.rows), pagination=Pagination.of(found.page)
    )


async def get_notebook(call: Call, request: m.OneNotebook) -> m.NotebookAnswer:
    """One notebook, with its configuration."""
    row = await launching.known(call, KIND, request.notebook_id)
    return m.NotebookAnswer(notebook=_shown(call, row), config=await launching.config_of(call, row.task_id))


async def launch_notebook(call: Call, request: m.LaunchNotebook) -> m.LaunchedNotebookAnswer:
    """Start a notebook, or with `preview` only see its configuration."""
    if request.body.preview:
        config = await launching.preview(call, KIND, request.body)
        return m.LaunchedNotebookAnswer(notebook=None, config=config)
    launched = await launching.launch(call, KIND, request.body)
    return m.LaunchedNotebookAnswer(
        notebook=_shown(call, launched.task), config=launched.config, warnings=launched.warnings
    )


async def kill_notebook(call: Call, request: m.OneNotebook) -> m.KilledNotebookAnswer:
    """End a notebook, whether it runs or waits. One that has ended stays as it is."""
    return m.KilledNotebookAnswer(notebook=_shown(call, await launching.kill(call, KIND, request.notebook_id)))


async def set_notebook_priority(call: Call, request: m.SetNotebookPriority) -> m.PrioritizedNotebookAnswer:
    """Change the priority of a notebook in the queue of its pool."""
    row = await launching.set_priority(call, KIND, request.notebook_id, request.body.priority)
    return m.PrioritizedNotebookAnswer(notebook=_shown(call, row))


async def idle_notebook(call: Call, request: m.IdleNotebook) -> Empty:
    """What a notebook says of its kernels and terminals. Where some are at work, the notebook counts as used."""
    await launching.known(call, KIND, request.notebook_id)
    if not request.body.idle:
        await call.gateway.proxied.usage.note(request.notebook_id)
    return Empty()


def _shown(call: Call, row: TaskRow) -> m.Notebook:
    return m.Notebook(
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
        service_address=_address(call, row),
        user_id=row.owner_id,
    )


def _address(call: Call, row: TaskRow) -> str:
    """The token of a notebook runs code as its owner: the owner and the task itself are told it, and nobody else."""
    path, task = f"/proxy/{row.task_id}/", call.principal.task
    may = call.principal.user_id == row.owner_id if task is None else task.task_id == row.task_id
    if not may:
        return path
    secret = call.gateway.settings.secret.get_secret_value().encode()
    return f"{path}?token={tokens.of_service(secret, row.task_id)}"


TAG = "Notebooks"
NOTEBOOKS = "/api/v1/notebooks"
NOTEBOOK = "/api/v1/notebooks/{notebookId}"

EDITS = SIGNED_IN.to("interactive.edit").about("notebook", "notebookId")

ROUTES = (
    operation(
        "GetNotebooks",
        "GET",
        NOTEBOOKS,
        get_notebooks,
        SIGNED_IN.to("interactive.view").over_scope(),
        request=m.GetNotebooks,
        response=m.NotebooksAnswer,
        tag=TAG,
    ),
    operation(
        "LaunchNotebook",
        "POST",
        NOTEBOOKS,
        launch_notebook,
        SIGNED_IN.to("interactive.create")
        .over_scope()
        .about("workspace", "body.workspaceId", optional=True)
        .about("template", "body.templateName", to="template.view", optional=True),
        request=m.LaunchNotebook,
        response=m.LaunchedNotebookAnswer,
        tag=TAG,
        body=LAUNCH,
    ),
    operation(
        "GetNotebook",
        "GET",
        NOTEBOOK,
        get_notebook,
        (SIGNED_IN | TASK).to("interactive.view").about("notebook", "notebookId"),
        request=m.OneNotebook,
        response=m.NotebookAnswer,
        tag=TAG,
    ),
    operation(
        "KillNotebook",
        "POST",
        f"{NOTEBOOK}/kill",
        kill_notebook,
        EDITS,
        request=m.OneNotebook,
        response=m.KilledNotebookAnswer,
        tag=TAG,
    ),
    operation(
        "SetNotebookPriority",
        "POST",
        f"{NOTEBOOK}/set_priority",
        set_notebook_priority,
        EDITS,
        request=m.SetNotebookPriority,
        response=m.PrioritizedNotebookAnswer,
        tag=TAG,
    ),
    operation(
        "IdleNotebook",
        "PUT",
        f"{NOTEBOOK}/report_idle",
        idle_notebook,
        (SIGNED_IN | TASK).to("interactive.edit").about("notebook", "notebookId"),
        request=m.IdleNotebook,
        response=Empty,
        tag="Internal",
    ),
)
