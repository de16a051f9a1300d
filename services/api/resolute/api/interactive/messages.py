"""Messages that every kind of task which is no trial shares."""

from __future__ import annotations

from typing import Annotated

from resolute.api.experiments.submission_messages import File
from resolute.api.kernel.common import Id, Limit, Name, Offset, OrderBy
from resolute.api.kernel.fields import JsonObject, WireEnum, base64_text, items
from resolute.api.kernel.messages import InBody, Input, InQuery, Request


class SortTasksBy(WireEnum, wire_name="v1GetTensorboardsRequestSortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    ID = "SORT_BY_ID"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    START_TIME = "SORT_BY_START_TIME"
    WORKSPACE_ID = "SORT_BY_WORKSPACE_ID"


class Launch(Input, wire_name="v1LaunchCommandRequest"):
    config: JsonObject | None = None
    """What differs from the template and from the cluster's defaults."""
    data: Annotated[str, base64_text(1_048_576)] = ""
    """Not used."""
    files: Annotated[tuple[File, ...], items(100_000)] = ()
    """The context directory."""
    template_name: Name = ""
    workspace_id: Id = 0
    """0 is the workspace Uncategorized."""


class LaunchTask(Request):
    body: InBody[Launch]


UserIds = Annotated[tuple[Id, ...], items(1000)]
Users = Annotated[tuple[Name, ...], items(1000)]


class GetTasksOfKind(Request):
    """What every list of tasks of one kind is asked with."""

    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    sort_by: InQuery[SortTasksBy] = SortTasksBy.UNSPECIFIED
    user_ids: InQuery[UserIds] = ()
    users: InQuery[Users] = ()
    """Names of users."""
    workspace_id: InQuery[Id] = 0
