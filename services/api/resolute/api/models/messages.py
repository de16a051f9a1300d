"""The messages about models and their versions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.checkpoints.messages import Checkpoint
from resolute.api.kernel.common import Id, Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import Flag, JsonObject, Needed, WireEnum, items, text, whole
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request

Text = Annotated[str, text(65_536)]
Labels = Annotated[tuple[Name, ...], items(1000)]
Ids = Annotated[tuple[Annotated[int, whole(least=1)], ...], items(1000)]
Names = Annotated[tuple[Name, ...], items(1000)]
VersionNumber = Annotated[int, whole(least=0)]


# ---------------------------------------------------------------- what answers show


class Model(Message, wire_name="v1Model"):
    id: int
    name: str
    description: str = ""
    notes: str = ""
    labels: tuple[str, ...] = ()
    metadata: JsonObject | None
    workspace_id: int
    user_id: int
    username: str
    archived: bool
    num_versions: int
    creation_time: datetime | None
    last_updated_time: datetime | None
    """When the model was changed, or a version of it registered or deleted."""


class ModelVersion(Message, wire_name="v1ModelVersion"):
    id: int
    """Of all versions of all models."""
    version: int
    """1, 2, 3 … of the model. The number of a deleted version is not given again."""
    model: Model | None
    checkpoint: Checkpoint | None
    """Null where the caller may not see its experiment."""
    name: str = ""
    comment: str = ""
    notes: str = ""
    labels: tuple[str, ...] = ()
    metadata: JsonObject | None = None
    user_id: int = 0
    """Who registered it."""
    username: str = ""
    creation_time: datetime | None
    last_updated_time: datetime | None


# ---------------------------------------------------------------- lists, and one of each


class SortModelsBy(WireEnum, wire_name="v1GetModelsRequestSortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    NAME = "SORT_BY_NAME"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    CREATION_TIME = "SORT_BY_CREATION_TIME"
    LAST_UPDATED_TIME = "SORT_BY_LAST_UPDATED_TIME"
    NUM_VERSIONS = "SORT_BY_NUM_VERSIONS"
    WORKSPACE = "SORT_BY_WORKSPACE"


class GetModels(Request):
    archived: InQuery[Flag | None] = None
    description: InQuery[Name] = ""
    """A part of it, in any case of letters."""
    id: InQuery[Id] = 0
    labels: InQuery[Labels] = ()
    """Models that have all of these."""
    limit: InQuery[Limit] = 0
    name: InQuery[Name] = ""
    """A part of it, in any case of letters."""
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    sort_by: InQuery[SortModelsBy] = SortModelsBy.UNSPECIFIED
    user_ids: InQuery[Ids] = ()
    """Of the owners."""
    users: InQuery[Names] = ()
    """The owners' names."""
    workspace_ids: InQuery[Ids] = ()
    workspace_names: InQuery[Names] = ()


class ModelsAnswer(Message, wire_name="v1GetModelsResponse"):
    models: tuple[Model, ...]
    pagination: Pagination | None


class GetModel(Request):
    model_name: InPath[Name]
    """The model's name, or its id."""


class ModelAnswer(Message, wire_name="v1GetModelResponse"):
    model: Model | None


class GetModelLabels(Request):
    workspace_id: InQuery[Id] = 0
    """Of the models of this workspace alone."""


class LabelsAnswer(Message, wire_name="v1GetModelLabelsResponse"):
    labels: tuple[str, ...]
    """Those that most models have come first."""


class SortVersionsBy(WireEnum, wire_name="v1GetModelVersionsRequestSortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    VERSION = "SORT_BY_VERSION"
    CREATION_TIME = "SORT_BY_CREATION_TIME"


class GetModelVersions(Request):
    model_name: InPath[Name]
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    sort_by: InQuery[SortVersionsBy] = SortVersionsBy.UNSPECIFIED


class VersionsAnswer(Message, wire_name="v1GetModelVersionsResponse"):
    model: Model | None
    model_versions: tuple[ModelVersion, ...]
    pagination: Pagination | None


class GetModelVersion(Request):
    model_name: InPath[Name]
    model_version_num: InPath[VersionNumber]


class VersionAnswer(Message, wire_name="v1GetModelVersionResponse"):
    model_version: ModelVersion | None


# ---------------------------------------------------------------- changes of models


class NewModel(Input, wire_name="v1PostModelRequest"):
    name: Needed[Name] = ""
    """1 to 255 characters, no slash, no two spaces in a row, and not only digits. No two models have the same."""
    description: Text = ""
    labels: Labels = ()
    metadata: JsonObject | None = None
    notes: Text = ""
    workspace_id: Id | None = None
    """Where neither this nor the name is given: the workspace Uncategorized."""
    workspace_name: Name | None = None


class PostModel(Request):
    body: InBody[NewModel]


class NewModelAnswer(ModelAnswer, wire_name="v1PostModelResponse"):
    pass


class ModelChange(Input, wire_name="v1PatchModel"):
    """What is left out or null stays as it is."""

    name: Name | None = None
    description: Text | None = None
    labels: Labels | None = None
    """All of them: those that the model has are replaced."""
    metadata: JsonObject | None = None
    """All of it: what the model has is replaced."""
    notes: Text | None = None
    workspace_id: Id | None = None
    """Where the model is moved to."""
    workspace_name: Name | None = None


class PatchModel(Request):
    model_name: InPath[Name]
    body: InBody[ModelChange]


class ChangedModelAnswer(ModelAnswer, wire_name="v1PatchModelResponse"):
    pass


class Destination(Input, wire_name="v1MoveModelRequest"):
    destination_workspace_id: Needed[Id] = 0
    model_name: Needed[Name] = ""
    """The model in the path counts."""


class MoveModel(Request):
    model_name: InPath[Name]
    body: InBody[Destination]


class OneModel(Request):
    model_name: InPath[Name]


# ---------------------------------------------------------------- changes of versions


class NewVersion(Input, wire_name="v1PostModelVersionRequest"):
    checkpoint_uuid: Needed[Name] = ""
    """The checkpoint is complete, and is kept as long as the version is there."""
    model_name: Needed[Name] = ""
    """The model in the path counts."""
    name: Name = ""
    comment: Text = ""
    notes: Text = ""
    labels: Labels = ()
    metadata: JsonObject | None = None


class PostModelVersion(Request):
    model_name: InPath[Name]
    body: InBody[NewVersion]


class NewVersionAnswer(VersionAnswer, wire_name="v1PostModelVersionResponse"):
    pass


class VersionChange(Input, wire_name="v1PatchModelVersion"):
    """What is left out or null stays as it is."""

    name: Name | None = None
    comment: Text | None = None
    notes: Text | None = None
    labels: Labels | None = None
    metadata: JsonObject | None = None
    checkpoint: JsonObject | None = None
    """Refused: a version is of one checkpoint, always."""


class PatchModelVersion(Request):
    model_name: InPath[Name]
    model_version_num: InPath[VersionNumber]
    body: InBody[VersionChange]


class ChangedVersionAnswer(VersionAnswer, wire_name="v1PatchModelVersionResponse"):
    pass


class OneVersion(Request):
    model_name: InPath[Name]
    model_version_num: InPath[VersionNumber]
