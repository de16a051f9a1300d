"""The messages about the projects that a user looked at last."""

from __future__ import annotations

from typing import Annotated

from resolute.api.kernel.common import Id
from resolute.api.kernel.fields import Needed, WireEnum, whole
from resolute.api.kernel.messages import InBody, Input, InQuery, Message, Request
from resolute.api.workspaces.messages import Project

SHOWN_MAX = 100
"""As many as are remembered."""


class ActivityType(WireEnum, wire_name="v1ActivityType"):
    UNSPECIFIED = "ACTIVITY_TYPE_UNSPECIFIED"
    GET = "ACTIVITY_TYPE_GET"
    """Somebody looked at it."""


class EntityType(WireEnum, wire_name="v1EntityType"):
    UNSPECIFIED = "ENTITY_TYPE_UNSPECIFIED"
    PROJECT = "ENTITY_TYPE_PROJECT"


class Activity(Input, wire_name="v1PostUserActivityRequest"):
    activity_type: Needed[ActivityType] = ActivityType.UNSPECIFIED
    entity_type: Needed[EntityType] = EntityType.UNSPECIFIED
    entity_id: Needed[Id] = 0
    """The project's number."""


class PostUserActivity(Request):
    body: InBody[Activity]


class GetProjectsByUserActivity(Request):
    limit: InQuery[Annotated[int, whole(least=0, most=SHOWN_MAX)]] = 0
    """0: all that are remembered, at most 100."""


class VisitedProjectsAnswer(Message, wire_name="v1GetProjectsByUserActivityResponse"):
    projects: tuple[Project, ...] = ()
    """The one that was visited last comes first."""
