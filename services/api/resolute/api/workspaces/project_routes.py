"""The handlers about projects, and the route of each."""

from __future__ import annotations

import secrets

from resolute.api.call import Call
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.routing import OWNERS, SIGNED_IN
from resolute.api.workspaces.messages import (
    ActOnProject,
    AddedNoteAnswer,
    AddProjectNote,
    ChangedProjectAnswer,
    DeletedProjectAnswer,
    GetProject,
    GetProjectByKey,
    MoveProject,
    NewProjectAnswer,
    Note,
    NotesAnswer,
    PatchProject,
    PostProject,
    Project,
    ProjectAnswer,
    ProjectByKeyAnswer,
    PutProjectNotes,
)
from resolute.api.workspaces.shown import project_shown, queries_of, soon_gone
from resolute.proto import spaces
from resolute.proto.errors import NotFound
from resolute.proto.identity import CreateProject


async def get_project(call: Call, request: GetProject) -> ProjectAnswer:
    """One project."""
    return ProjectAnswer(project=await _project(call, request.id))


async def get_project_by_key(call: Call, request: GetProjectByKey) -> ProjectByKeyAnswer:
    """The project that has this key now."""
    project_id = await queries_of(call).project_with_key(request.key.upper())
    project = None if project_id is None else await _project(call, project_id)
    if project is None or not call.scope.covers(project.workspace_id):
        raise NotFound("key: no project has this key")
    return ProjectByKeyAnswer(project=project)


async def post_project(call: Call, request: PostProject) -> NewProjectAnswer:
    """Make a project."""
    wanted = request.body
    create = CreateProject(
        request.workspace_id,
        wanted.name,
        wanted.description,
        call.principal.user_id,
        key=wanted.key or "",
        seed=secrets.randbits(31),
    )
    return NewProjectAnswer(project=await _project(call, (await call.send(create)).data["project_id"]))


async def patch_project(call: Call, request: PatchProject) -> ChangedProjectAnswer:
    """Change a project's name, description or key: what is absent or null stays."""
    wanted = request.body
    values = {"name": wanted.name, "description": wanted.description, "key": wanted.key}
    changes = {name: value for name, value in values.items() if value is not None}
    await call.send(spaces.ChangeProject(request.id, changes))
    return ChangedProjectAnswer(project=await _project(call, request.id))


async def archive_project(call: Call, request: ActOnProject) -> Empty:
    """Archive a project: it cannot be changed, and takes no new experiments."""
    await call.send(spaces.ArchiveProject(request.id))
    return Empty()


async def unarchive_project(call: Call, request: ActOnProject) -> Empty:
    """Take a project out of the archive."""
    await call.send(spaces.UnarchiveProject(request.id))
    return Empty()


async def move_project(call: Call, request: MoveProject) -> Empty:
    """Move a project with its experiments to another workspace."""
    await call.send(spaces.MoveProject(request.project_id, request.body.destination_workspace_id))
    return Empty()


async def delete_project(call: Call, request: ActOnProject) -> DeletedProjectAnswer:
    """Delete a project with its experiments."""
    await call.send(spaces.DeleteProject(request.id))
    row = await queries_of(call).project(request.id)
    if row is not None and not row.experiments:
        row = await soon_gone(call, lambda: queries_of(call).project(request.id))
    return DeletedProjectAnswer(completed=row is None)


async def add_note(call: Call, request: AddProjectNote) -> AddedNoteAnswer:
    """Add a note to a project."""
    await call.send(spaces.AddProjectNote(request.project_id, _note(request.body)))
    return AddedNoteAnswer(notes=(await _project(call, request.project_id)).notes)


async def put_notes(call: Call, request: PutProjectNotes) -> NotesAnswer:
    """Replace all notes of a project."""
    await call.send(spaces.SetProjectNotes(request.project_id, tuple(map(_note, request.body.notes))))
    return NotesAnswer(notes=(await _project(call, request.project_id)).notes)


def _note(wanted: Note) -> spaces.Note:
    return spaces.Note(wanted.name, wanted.contents)


async def _project(call: Call, project_id: int) -> Project:
    row = await queries_of(call).project(project_id)
    if row is None:
        raise NotFound(f"project {project_id} not found")
    return project_shown(row)


VIEW = SIGNED_IN.to("project.view")
EDIT = OWNERS.to("project.edit").about("project", "id")
NOTE = SIGNED_IN.to("project.edit").about("project", "projectId")
DELETE = OWNERS.to("project.delete")

ONE = "/api/v1/projects/{id}"
NOTES = "/api/v1/projects/{projectId}/notes"
TAG = "Projects"

ROUTES = (
    operation(
        "PostProject",
        "POST",
        "/api/v1/workspaces/{workspaceId}/projects",
        post_project,
        SIGNED_IN.to("project.create").about("workspace", "workspaceId"),
        request=PostProject,
        response=NewProjectAnswer,
        tag=TAG,
    ),
    operation(
        "GetProjectByKey",
        "GET",
        "/api/v1/projects/key/{key}",
        get_project_by_key,
        VIEW.over_scope(),
        request=GetProjectByKey,
        response=ProjectByKeyAnswer,
        tag=TAG,
    ),
    operation(
        "GetProject",
        "GET",
        ONE,
        get_project,
        VIEW.about("project", "id"),
        request=GetProject,
        response=ProjectAnswer,
        tag=TAG,
    ),
    operation(
        "PatchProject",
        "PATCH",
        ONE,
        patch_project,
        EDIT,
        request=PatchProject,
        response=ChangedProjectAnswer,
        tag=TAG,
    ),
    operation(
        "DeleteProject",
        "DELETE",
        ONE,
        delete_project,
        DELETE.about("project", "id"),
        request=ActOnProject,
        response=DeletedProjectAnswer,
        tag=TAG,
    ),
    operation(
        "ArchiveProject",
        "POST",
        f"{ONE}/archive",
        archive_project,
        EDIT,
        request=ActOnProject,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "UnarchiveProject",
        "POST",
        f"{ONE}/unarchive",
        unarchive_project,
        EDIT,
        request=ActOnProject,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "MoveProject",
        "POST",
        "/api/v1/projects/{projectId}/move",
        move_project,
        DELETE.about("project", "projectId").about("workspace", "body.destinationWorkspaceId", to="project.create"),
        request=MoveProject,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "AddProjectNote", "POST", NOTES, add_note, NOTE, request=AddProjectNote, response=AddedNoteAnswer, tag=TAG
    ),
    operation("PutProjectNotes", "PUT", NOTES, put_notes, NOTE, request=PutProjectNotes, response=NotesAnswer, tag=TAG),
)
