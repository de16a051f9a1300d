"""The messages about workspaces and projects."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar

from resolute.api.kernel.common import AgentUserGroup, Id, Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import Flag, JsonObject, Needed, OrAbsent, WireEnum, items, text, whole
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request

UserIds = Annotated[tuple[Annotated[int, whole(least=1)], ...], items(1000)]
Usernames = Annotated[tuple[Name, ...], items(1000)]
ProjectId = Annotated[int, whole(least=0)]
Text = Annotated[str, text(65_536)]


# ---------------------------------------------------------------- what answers show


class WorkspaceState(WireEnum, wire_name="v1WorkspaceState"):
    UNSPECIFIED = "WORKSPACE_STATE_UNSPECIFIED"
    """It is not being deleted."""
    DELETING = "WORKSPACE_STATE_DELETING"
    DELETE_FAILED = "WORKSPACE_STATE_DELETE_FAILED"
    DELETED = "WORKSPACE_STATE_DELETED"


class Workspace(Message, wire_name="v1Workspace"):
    id: int
    name: str
    archived: bool
    immutable: bool
    num_projects: int
    num_experiments: int
    pinned: Needed[bool] = False
    user_id: int
    username: str
    state: Needed[WorkspaceState] = WorkspaceState.UNSPECIFIED
    error_message: Needed[str] = ""
    default_compute_pool: str = ""
    default_aux_pool: str = ""
    agent_user_group: OrAbsent[AgentUserGroup] = None
    """The user and the group that tasks of its experiments run as."""
    checkpoint_storage_config: OrAbsent[JsonObject] = None
    """What goes before the cluster's own checkpoint storage."""
    auto_created_namespace: OrAbsent[str] = None
    pinned_at: OrAbsent[datetime] = None


class Note(Input, wire_name="v1Note"):
    name: Needed[Text] = ""
    contents: Needed[Text] = ""


class Project(Message, wire_name="v1Project"):
    id: int
    key: str
    name: str
    description: str = ""
    archived: bool
    immutable: bool
    workspace_id: int
    workspace_name: str = ""
    user_id: int
    username: str
    num_experiments: int
    num_active_experiments: int
    """Those that have not ended and are not paused."""
    num_runs: int
    last_experiment_started_at: datetime | None
    notes: Needed[tuple[Note, ...]] = ()
    state: Needed[WorkspaceState] = WorkspaceState.UNSPECIFIED
    error_message: Needed[str] = ""


class NamespaceBinding(Message, wire_name="v1WorkspaceNamespaceBinding"):
    """What a workspace has on Kubernetes, which this release does not support."""

    workspace_id: int = 0
    namespace: str = ""
    cluster_name: str = ""
    auto_create_namespace: bool = False


# ---------------------------------------------------------------- lists, and one of each


class SortWorkspacesBy(WireEnum, wire_name="v1GetWorkspacesRequestSortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    ID = "SORT_BY_ID"
    NAME = "SORT_BY_NAME"


class GetWorkspaces(Request):
    archived: InQuery[Flag | None] = None
    limit: InQuery[Limit] = 0
    name: InQuery[Name] = ""
    """The whole name, in any case of letters; `%` stands for any text, and `_` for any character."""
    name_case_sensitive: InQuery[Name] = ""
    """The whole name."""
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    pinned: InQuery[Flag | None] = None
    sort_by: InQuery[SortWorkspacesBy] = SortWorkspacesBy.UNSPECIFIED
    user_ids: InQuery[UserIds] = ()
    """Of the owners."""
    users: InQuery[Usernames] = ()
    """The owners' names."""


class WorkspacesAnswer(Message, wire_name="v1GetWorkspacesResponse"):
    workspaces: tuple[Workspace, ...]
    pagination: Pagination


class GetWorkspace(Request):
    id: InPath[Id]


class WorkspaceAnswer(Message, wire_name="v1GetWorkspaceResponse"):
    workspace: Workspace


class SortProjectsBy(WireEnum, wire_name="v1GetWorkspaceProjectsRequestSortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    CREATION_TIME = "SORT_BY_CREATION_TIME"
    LAST_EXPERIMENT_START_TIME = "SORT_BY_LAST_EXPERIMENT_START_TIME"
    NAME = "SORT_BY_NAME"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    ID = "SORT_BY_ID"


class GetWorkspaceProjects(Request):
    id: InPath[Id]
    archived: InQuery[Flag | None] = None
    limit: InQuery[Limit] = 0
    name: InQuery[Name] = ""
    """The whole name, in any case of letters; `%` stands for any text, and `_` for any character."""
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    sort_by: InQuery[SortProjectsBy] = SortProjectsBy.UNSPECIFIED
    user_ids: InQuery[UserIds] = ()
    """Of the owners."""
    users: InQuery[Usernames] = ()
    """The owners' names."""


class ProjectsAnswer(Message, wire_name="v1GetWorkspaceProjectsResponse"):
    projects: tuple[Project, ...]
    pagination: Pagination


class GetProject(Request):
    id: InPath[Id]


class ProjectAnswer(Message, wire_name="v1GetProjectResponse"):
    project: Project


# ---------------------------------------------------------------- changes


class NamespaceMeta(Input, wire_name="v1WorkspaceNamespaceMeta"):
    """For Kubernetes, which this release does not support: a request that has one is refused."""

    auto_create_namespace: Flag = False
    auto_create_namespace_all_clusters: Flag = False
    cluster_name: Name = ""
    namespace: Name = ""
    resource_quota: Annotated[int, whole(least=0)] = 0


Namespaces = Annotated[Mapping[str, NamespaceMeta], items(100_000)]


class NewWorkspace(Input, wire_name="v1PostWorkspaceRequest"):
    POOLS: ClassVar[Mapping[str, str]] = {
        "default_compute_pool": "default_compute_pool",
        "default_aux_pool": "default_aux_pool",
    }
    """The fields that name a pool, and the settings that they give."""

    name: Needed[Name] = ""
    agent_user_group: AgentUserGroup | None = None
    """The user and the group that tasks of its experiments run as."""
    checkpoint_storage_config: JsonObject | None = None
    """What goes before the cluster's own checkpoint storage."""
    cluster_namespace_meta: Namespaces | None = None
    cluster_quota_pairs: Annotated[Mapping[str, Annotated[int, whole()]], items(100_000)] | None = None
    default_aux_pool: Name | None = None
    default_compute_pool: Name | None = None


class PostWorkspace(Request):
    body: InBody[NewWorkspace]


class NewWorkspaceAnswer(Message, wire_name="v1PostWorkspaceResponse"):
    workspace: Workspace
    namespace_bindings: Mapping[str, NamespaceBinding] = {}


class WorkspaceChange(Input, wire_name="v1PatchWorkspace"):
    """What is left out or null stays as it is; an empty object or an empty name takes the setting away."""

    POOLS: ClassVar[Mapping[str, str]] = {
        "default_compute_pool": "default_compute_pool",
        "default_compute_resource_pool": "default_compute_pool",
        "default_aux_pool": "default_aux_pool",
        "default_aux_resource_pool": "default_aux_pool",
    }
    """The fields that name a pool, also by their names in older clients, and the settings that they give."""

    agent_user_group: AgentUserGroup | None = None
    checkpoint_storage_config: JsonObject | None = None
    cluster_namespace_meta: Namespaces | None = None
    default_aux_pool: Name | None = None
    default_aux_resource_pool: Name | None = None
    default_compute_pool: Name | None = None
    default_compute_resource_pool: Name | None = None
    name: Name | None = None


class PatchWorkspace(Request):
    id: InPath[Id]
    body: InBody[WorkspaceChange]


class ChangedWorkspaceAnswer(NewWorkspaceAnswer, wire_name="v1PatchWorkspaceResponse"):
    pass


class NewProject(Input, wire_name="v1PostProjectRequest"):
    name: Needed[Name] = ""
    workspace_id: Needed[Id] = 0
    """The workspace in the path counts."""
    description: Text = ""
    key: Name | None = None
    """1 to 5 letters or digits; without one the project gets a key that is made of its name."""


class PostProject(Request):
    workspace_id: InPath[Id]
    body: InBody[NewProject]


class NewProjectAnswer(ProjectAnswer, wire_name="v1PostProjectResponse"):
    pass


# ---------------------------------------------------------------- what is done with one


class ActOnWorkspace(Request):
    id: InPath[Id]


class DeletedWorkspaceAnswer(Message, wire_name="v1DeleteWorkspaceResponse"):
    completed: bool
    """Whether it is gone. Otherwise it is deleted in the background, with its projects and their experiments."""


class ActOnProject(Request):
    id: InPath[Id]


class DeletedProjectAnswer(Message, wire_name="v1DeleteProjectResponse"):
    completed: bool
    """Whether it is gone. Otherwise it is deleted in the background, with its experiments."""


class ProjectChange(Input, wire_name="v1PatchProject"):
    """What is left out or null stays as it is."""

    name: Name | None = None
    description: Text | None = None
    key: Name | None = None


class PatchProject(Request):
    id: InPath[Id]
    body: InBody[ProjectChange]


class ChangedProjectAnswer(ProjectAnswer, wire_name="v1PatchProjectResponse"):
    pass


class Destination(Input, wire_name="v1MoveProjectRequest"):
    destination_workspace_id: Needed[Id] = 0
    project_id: Needed[Id] = 0
    """The project in the path counts."""


class MoveProject(Request):
    project_id: InPath[Id]
    body: InBody[Destination]


class AddProjectNote(Request):
    project_id: InPath[Id]
    body: InBody[Note]


class AddedNoteAnswer(Message, wire_name="v1AddProjectNoteResponse"):
    notes: tuple[Note, ...]


class NewNotes(Input, wire_name="v1PutProjectNotesRequest"):
    notes: Needed[Annotated[tuple[Note, ...], items(1000)]] = ()
    """All of them: those that the project has are replaced."""
    project_id: Needed[Id] = 0
    """The project in the path counts."""


class PutProjectNotes(Request):
    project_id: InPath[Id]
    body: InBody[NewNotes]


class NotesAnswer(Message, wire_name="v1PutProjectNotesResponse"):
    notes: tuple[Note, ...]


class GetProjectByKey(Request):
    key: InPath[Name]


class ProjectByKeyAnswer(ProjectAnswer, wire_name="v1GetProjectByKeyResponse"):
    pass
