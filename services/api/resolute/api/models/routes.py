"""Models and their versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from resolute.api.call import Call
from resolute.api.checkpoints.messages import Checkpoint
from resolute.api.checkpoints.queries import QUERIES as CHECKPOINTS
from resolute.api.checkpoints.shown import shown as shown_checkpoint
from resolute.api.kernel.common import OrderBy, Pagination
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Window
from resolute.api.models import messages as m
from resolute.api.models.queries import QUERIES, ModelQueries, ModelRow, VersionRow, Wanted
from resolute.api.routing import OWNERS, SIGNED_IN
from resolute.proto import models as proto
from resolute.proto.errors import InvalidConfig, NotFound, refuse
from resolute.proto.states import CheckpointState

FIRST_WORKSPACE = 1
"""Where models are that name no workspace: the workspace Uncategorized."""


# ---------------------------------------------------------------- models


async def get_models(call: Call, request: m.GetModels) -> m.ModelsAnswer:
    """The models."""
    found = await _queries(call).models(
        call.scope,
        _wanted(request),
        request.sort_by,
        descending=request.order_by is OrderBy.DESC,
        window=Window(request.offset, request.limit),
    )
    return m.ModelsAnswer(models=tuple(map(_shown, found.rows)), pagination=Pagination.of(found.page))


async def get_model(call: Call, request: m.GetModel) -> m.ModelAnswer:
    """One model, by its name or its id."""
    return m.ModelAnswer(model=_shown(await _model(call, request.model_name)))


async def get_model_labels(call: Call, request: m.GetModelLabels) -> m.LabelsAnswer:
    """The labels that models have, the most frequent first."""
    return m.LabelsAnswer(labels=tuple(await _queries(call).labels(call.scope, request.workspace_id)))


async def post_model(call: Call, request: m.PostModel) -> m.NewModelAnswer:
    """Make a model."""
    new = request.body
    workspace_id = await _workspace(call, new.workspace_id, new.workspace_name)
    create = proto.CreateModel(
        name=new.name,
        workspace_id=workspace_id or FIRST_WORKSPACE,
        owner_id=call.principal.user_id,
        description=new.description,
        labels=_once(new.labels),
        metadata=dict(new.metadata or {}),
        notes=new.notes,
    )
    made = await call.send(create)
    return m.NewModelAnswer(model=_shown(await _model(call, str(made.data["model_id"]))))


async def patch_model(call: Call, request: m.PatchModel) -> m.ChangedModelAnswer:
    """Change a model: what is absent or null stays. A new workspace moves it."""
    model = await _model(call, request.model_name)
    changes = _changes(request.body, ("name", "description", "labels", "metadata", "notes"))
    workspace_id = await _workspace(call, request.body.workspace_id, request.body.workspace_name)
    if workspace_id is not None:
        changes["workspace_id"] = workspace_id
    await call.send(proto.ChangeModel(model.id, changes))
    return m.ChangedModelAnswer(model=_shown(await _model(call, str(model.id))))


async def move_model(call: Call, request: m.MoveModel) -> Empty:
    """Move a model to another workspace."""
    model = await _model(call, request.model_name)
    workspace_id = await _workspace(call, request.body.destination_workspace_id, None)
    await call.send(proto.ChangeModel(model.id, {"workspace_id": workspace_id}))
    return Empty()


async def archive_model(call: Call, request: m.OneModel) -> Empty:
    """Archive a model: it cannot be changed, and gets no versions."""
    await call.send(proto.ArchiveModel((await _model(call, request.model_name)).id))
    return Empty()


async def unarchive_model(call: Call, request: m.OneModel) -> Empty:
    """Take a model out of the archive."""
    await call.send(proto.UnarchiveModel((await _model(call, request.model_name)).id))
    return Empty()


async def delete_model(call: Call, request: m.OneModel) -> Empty:
    """Delete a model with its versions. Their checkpoints stay."""
    await call.send(proto.DeleteModel((await _model(call, request.model_name)).id))
    return Empty()


# ---------------------------------------------------------------- versions


async def get_model_versions(call: Call, request: m.GetModelVersions) -> m.VersionsAnswer:
    """The versions of a model."""
    model = await _model(call, request.model_name)
    found = await _queries(call).versions(
        model.id,
        request.sort_by,
        descending=request.order_by is OrderBy.DESC,
        window=Window(request.offset, request.limit),
    )
    versions = await _shown_versions(call, model, found.rows)
    return m.VersionsAnswer(model=_shown(model), model_versions=versions, pagination=Pagination.of(found.page))


async def get_model_version(call: Call, request: m.GetModelVersion) -> m.VersionAnswer:
    """One version of a model."""
    model = await _model(call, request.model_name)
    return m.VersionAnswer(model_version=await _version(call, model, request.model_version_num))


async def post_model_version(call: Call, request: m.PostModelVersion) -> m.NewVersionAnswer:
    """Register a complete checkpoint as the next version of a model. It is kept as long as the version is there."""
    model, new = await _model(call, request.model_name), request.body
    await _check_complete(call, new.checkpoint_uuid)
    register = proto.RegisterModelVersion(
        model_id=model.id,
        checkpoint=new.checkpoint_uuid,
        owner_id=call.principal.user_id,
        name=new.name,
        comment=new.comment,
        labels=_once(new.labels),
        metadata=dict(new.metadata or {}),
        notes=new.notes,
    )
    made = await call.send(register)
    model = await _model(call, str(model.id))
    return m.NewVersionAnswer(model_version=await _version(call, model, made.data["version"]))


async def patch_model_version(call: Call, request: m.PatchModelVersion) -> m.ChangedVersionAnswer:
    """Change a version: what is absent or null stays."""
    if request.body.checkpoint is not None:
        raise InvalidConfig("checkpoint: a version is always of the same checkpoint; register another version instead")
    model, version = await _model(call, request.model_name), request.model_version_num
    changes = _changes(request.body, ("name", "comment", "labels", "metadata", "notes"))
    await call.send(proto.ChangeModelVersion(model.id, version, changes))
    return m.ChangedVersionAnswer(model_version=await _version(call, model, version))


async def delete_model_version(call: Call, request: m.OneVersion) -> Empty:
    """Delete a version of a model. Its checkpoint stays."""
    model = await _model(call, request.model_name)
    await call.send(proto.DeleteModelVersion(model.id, request.model_version_num))
    return Empty()


# ---------------------------------------------------------------- what requests ask for


def _queries(call: Call) -> ModelQueries:
    return call.gateway.ports.of(QUERIES)


def _wanted(request: m.GetModels) -> Wanted:
    return Wanted(
        archived=request.archived,
        id=request.id,
        name_part=request.name,
        description_part=request.description,
        labels=request.labels,
        owners=request.users,
        owner_ids=request.user_ids,
        workspaces=request.workspace_names,
        workspace_ids=request.workspace_ids,
    )


def _changes(change: m.ModelChange | m.VersionChange, fields: Sequence[str]) -> dict[str, Any]:
    """The fields that a request gives, by their names in the log."""
    given = {name: value for name in fields if (value := getattr(change, name)) is not None}
    if "labels" in given:
        given["labels"] = list(_once(given["labels"]))
    return given


def _once(labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(labels))


async def _workspace(call: Call, workspace_id: int | None, name: str | None) -> int | None:
    """The workspace that a request gives, by id or by name; None where it gives none. Raises InvalidConfig where the
    two do not mean the same, and NotFound."""
    if workspace_id is None and not name:
        return None
    if not name:
        return await _known_workspace(call, workspace_id or 0)
    found = await _queries(call).workspaces_named(call.scope, name)
    if not found:
        raise NotFound(f"workspace {name!r} not found")
    if workspace_id and workspace_id not in found:
        raise InvalidConfig(f"workspaceName: {name!r} is not the name of workspace {workspace_id}; give one of the two")
    return found[0]


async def _known_workspace(call: Call, workspace_id: int) -> int:
    if not await _queries(call).has_workspace(workspace_id):
        raise NotFound(f"workspace {workspace_id} not found")
    await call.check_visible("workspace", str(workspace_id))
    return workspace_id


async def _check_complete(call: Call, uuid: str) -> None:
    """Raises NotFound, and Refused for a checkpoint that is not complete."""
    await call.gateway.read.catch_up()
    found = await call.gateway.ports.of(CHECKPOINTS).stored(uuid)
    if found is None:
        raise NotFound(f"checkpoint {uuid} not found")
    if found.state != CheckpointState.COMPLETED:
        raise refuse(f"register checkpoint {uuid}", f"it is {found.state}", "use one that is COMPLETED")


# ---------------------------------------------------------------- what answers show


async def _model(call: Call, identifier: str) -> ModelRow:
    """By name or id. Raises NotFound."""
    row = await _queries(call).model(identifier)
    if row is None:
        raise NotFound(f"model {identifier!r} not found")
    return row


async def _version(call: Call, model: ModelRow, version: int) -> m.ModelVersion:
    """Raises NotFound."""
    row = await _queries(call).version(model.id, version)
    if row is None:
        raise NotFound(f"version {version} of model {model.name!r} not found")
    return (await _shown_versions(call, model, [row]))[0]


def _shown(row: ModelRow) -> m.Model:
    return m.Model(
        id=row.id,
        name=row.name,
        description=row.description,
        notes=row.notes,
        labels=row.labels,
        metadata=row.metadata,
        workspace_id=row.workspace_id,
        user_id=row.owner_id,
        username=row.owner,
        archived=row.archived,
        num_versions=row.versions,
        creation_time=row.created_at,
        last_updated_time=row.updated_at,
    )


async def _shown_versions(call: Call, model: ModelRow, rows: Sequence[VersionRow]) -> tuple[m.ModelVersion, ...]:
    """With their checkpoints, as far as the caller may see them."""
    visible = call.scope_of("checkpoint.view")
    uuids = [row.checkpoint for row in rows if visible.covers(row.checkpoint_workspace_id)]
    found = {row.uuid: row for row in await call.gateway.ports.of(CHECKPOINTS).several(uuids)} if uuids else {}
    checkpoints = {uuid: shown_checkpoint(row) for uuid, row in found.items()}
    return tuple(_shown_version(model, row, checkpoints.get(row.checkpoint)) for row in rows)


def _shown_version(model: ModelRow, row: VersionRow, checkpoint: Checkpoint | None) -> m.ModelVersion:
    return m.ModelVersion(
        id=row.id,
        version=row.version,
        model=_shown(model),
        checkpoint=checkpoint,
        name=row.name,
        comment=row.comment,
        notes=row.notes,
        labels=row.labels,
        metadata=row.metadata,
        user_id=row.owner_id,
        username=row.owner,
        creation_time=row.created_at,
        last_updated_time=row.updated_at,
    )


TAG = "Models"

MODELS = "/api/v1/models"
MODEL = "/api/v1/models/{modelName}"
VERSIONS = "/api/v1/models/{modelName}/versions"
VERSION = "/api/v1/models/{modelName}/versions/{modelVersionNum}"

VIEW = SIGNED_IN.to("model.view").about("model", "modelName")
EDIT = SIGNED_IN.to("model.edit").about("model", "modelName")
DELETE = OWNERS.to("model.delete").to_others("model.others.delete").about("model", "modelName")
DELETE_VERSION = OWNERS.to("model.version.delete").to_others("model.version.others.delete").about("model", "modelName")
VIEW_VERSIONS = VIEW.showing("checkpoint.view")
EDIT_VERSIONS = EDIT.showing("checkpoint.view")

ROUTES = (
    operation(
        "GetModelLabels",
        "GET",
        "/api/v1/model/labels",
        get_model_labels,
        SIGNED_IN.to("model.view").over_scope(),
        request=m.GetModelLabels,
        response=m.LabelsAnswer,
        tag=TAG,
    ),
    operation(
        "GetModels",
        "GET",
        MODELS,
        get_models,
        SIGNED_IN.to("model.view").over_scope(),
        request=m.GetModels,
        response=m.ModelsAnswer,
        tag=TAG,
    ),
    operation(
        "PostModel",
        "POST",
        MODELS,
        post_model,
        SIGNED_IN.to("model.create").over_scope(),
        request=m.PostModel,
        response=m.NewModelAnswer,
        tag=TAG,
    ),
    operation("GetModel", "GET", MODEL, get_model, VIEW, request=m.GetModel, response=m.ModelAnswer, tag=TAG),
    operation(
        "PatchModel", "PATCH", MODEL, patch_model, EDIT, request=m.PatchModel, response=m.ChangedModelAnswer, tag=TAG
    ),
    operation("DeleteModel", "DELETE", MODEL, delete_model, DELETE, request=m.OneModel, response=Empty, tag=TAG),
    operation(
        "ArchiveModel", "POST", f"{MODEL}/archive", archive_model, EDIT, request=m.OneModel, response=Empty, tag=TAG
    ),
    operation(
        "UnarchiveModel",
        "POST",
        f"{MODEL}/unarchive",
        unarchive_model,
        EDIT,
        request=m.OneModel,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "MoveModel",
        "POST",
        f"{MODEL}/move",
        move_model,
        EDIT.about("workspace", "body.destinationWorkspaceId", to="model.create"),
        request=m.MoveModel,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "GetModelVersions",
        "GET",
        VERSIONS,
        get_model_versions,
        VIEW_VERSIONS,
        request=m.GetModelVersions,
        response=m.VersionsAnswer,
        tag=TAG,
    ),
    operation(
        "PostModelVersion",
        "POST",
        VERSIONS,
        post_model_version,
        EDIT_VERSIONS.about("checkpoint", "body.checkpointUuid", to="checkpoint.view"),
        request=m.PostModelVersion,
        response=m.NewVersionAnswer,
        tag=TAG,
    ),
    operation(
        "GetModelVersion",
        "GET",
        VERSION,
        get_model_version,
        VIEW_VERSIONS,
        request=m.GetModelVersion,
        response=m.VersionAnswer,
        tag=TAG,
    ),
    operation(
        "PatchModelVersion",
        "PATCH",
        VERSION,
        patch_model_version,
        EDIT_VERSIONS,
        request=m.PatchModelVersion,
        response=m.ChangedVersionAnswer,
        tag=TAG,
    ),
    operation(
        "DeleteModelVersion",
        "DELETE",
        VERSION,
        delete_model_version,
        DELETE_VERSION,
        request=m.OneVersion,
        response=Empty,
        tag=TAG,
    ),
)
