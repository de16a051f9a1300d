"""The projects that a user looked at last: pages report each visit, and the user's own list is shown."""

from __future__ import annotations

from resolute.api.call import Call
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.routing import SIGNED_IN
from resolute.api.visits.messages import (
    SHOWN_MAX,
    ActivityType,
    EntityType,
    GetProjectsByUserActivity,
    PostUserActivity,
    VisitedProjectsAnswer,
)
from resolute.api.visits.queries import QUERIES
from resolute.api.workspaces.shown import project_shown, queries_of
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.visits import RecordVisit


async def post_user_activity(call: Call, request: PostUserActivity) -> Empty:
    """Remember that one looked at a project."""
    seen = request.body
    if seen.activity_type is not ActivityType.GET:
        raise InvalidConfig(f"activityType: expected {ActivityType.GET}; found {seen.activity_type}")
    if seen.entity_type is not EntityType.PROJECT:
        raise InvalidConfig(f"entityType: expected {EntityType.PROJECT}; found {seen.entity_type}")
    if await queries_of(call).project(seen.entity_id) is None:
        raise NotFound(f"project {seen.entity_id} not found")
    await call.send(RecordVisit(call.principal.user_id, seen.entity_id, call.gateway.context.now()))
    return Empty()


async def get_projects_by_user_activity(call: Call, request: GetProjectsByUserActivity) -> VisitedProjectsAnswer:
    """The projects that one looked at, the newest visit first."""
    queries = call.gateway.ports.of(QUERIES)
    rows = await queries.visited(call.scope, call.principal.user_id, request.limit or SHOWN_MAX)
    return VisitedProjectsAnswer(projects=tuple(map(project_shown, rows)))


VIEW = SIGNED_IN.to("project.view")

ROUTES = (
    operation(
        "PostUserActivity",
        "POST",
        "/api/v1/users/activity",
        post_user_activity,
        VIEW.about("project", "body.entityId"),
        request=PostUserActivity,
        response=Empty,
        tag="Users",
    ),
    operation(
        "GetProjectsByUserActivity",
        "GET",
        "/api/v1/user/projects/activity",
        get_projects_by_user_activity,
        VIEW.over_scope(),
        request=GetProjectsByUserActivity,
        response=VisitedProjectsAnswer,
        tag="Projects",
    ),
)
