"""Who may come in: the table of routes, and the one function that decides."""

from __future__ import annotations

import re
from collections import Counter

import hypothesis
import pytest
from hypothesis import strategies as st

from resolute.api.kernel.declared import operation_of
from resolute.api.routing import (
    ADMIN,
    ANYONE,
    SELF,
    SIGNED_IN,
    TASK,
    Access,
    Caller,
    Owned,
    Principal,
    Route,
    TaskClaims,
    Verdict,
    decide,
)
from resolute.api.subjects import Reach, Subject
from resolute.api.table import PERMISSIONS, ROUTES

OPEN = {
    "Info",
    "Health",
    "GetMaster",
    "GetTelemetry",
    "Login",
    "OpenAPI",
    "OpenAPI31",
    "WebRoot",
    "WebBase",
    "WebHome",
    "WebAsset",
    "WebPage",
    "WebSession",
    "WebSignIn",
    "WebSignOut",
}
"""What a stranger may call. Adding to it is a decision."""

ABOUT_ONESELF = {
    *("Logout", "CurrentUser", "GetMe", "LegacyMe"),
    *("GetUserSetting", "PostUserSetting", "ResetUserSetting"),
    "GetPermissionsSummary",
}

WAITING_COUNTS_AS_EDITING = {"AllocationRendezvousInfo", "AllocationPreemptionSignal"}
"""A task's own conversation with the cluster, by GET or POST."""

IDS_OUTSIDE = {
    "tokenId",
    "agentId",
    "slotId",
    "userId",
    "groupId",
    "resourcesId",
    "externalExperimentId",
    "externalTrialId",
    "requestId",
}
"""Ids in paths of what lies in no workspace, or of a part of what is named besides."""

ASKING_BY_POST = {
    *("GetModelDefFile", "SearchRuns", "SearchExperiments"),
    *("GetGroups", "ListRoles", "SearchRolesAssignableToScope", "GetRolesByID"),
}

KEPT_FOR_ONESELF = {"PinWorkspace", "UnpinWorkspace", "PostUserActivity"}
"""Whoever may see the workspace may have it at hand: it changes nothing for others."""

USER = Principal(2, "determined")
ADMINISTRATOR = Principal(1, "admin", admin=True)
TASK_OF_TRIAL_4 = Principal(2, "determined", task=TaskClaims("task-4", "alloc-9", trial_id=4, experiment_id=3))


def test_no_route_is_open_by_omission() -> None:
    assert {route.operation for route in ROUTES if Caller.ANYONE in route.access.callers} == OPEN
    assert all(route.access.callers for route in ROUTES)


def test_every_door_has_a_permission_of_one_vocabulary_apart_from_what_is_open_or_about_oneself() -> None:
    without = {route.operation for route in ROUTES if not route.access.permission}
    assert without == OPEN | ABOUT_ONESELF
    kinds = {permission.partition(".")[0] for permission in PERMISSIONS}
    assert {f"{kind}.view" for kind in kinds} <= PERMISSIONS, "without it a thing does not exist for the caller"


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if route.access.permission], ids=lambda route: route.operation
)
def test_what_reads_needs_a_permission_to_view(route: Route) -> None:
    views = route.access.permission.endswith(".view")
    assert views or route.method != "GET" or route.operation in WAITING_COUNTS_AS_EDITING
    assert not views or route.method == "GET" or route.operation in ASKING_BY_POST | KEPT_FOR_ONESELF


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_a_route_for_tasks_or_for_oneself_says_whose(route: Route) -> None:
    kinds = {subject.kind for subject in route.access.subjects}
    if Caller.TASK in route.access.callers:
        assert kinds & {
            *("task", "allocation", "trial", "experiment", "checkpoint", "readable checkpoint", "notebook", "shell")
        }
    if Caller.SELF in route.access.callers:
        assert "user" in kinds


def declared(route: Route, subject: Subject) -> bool:
    """Whether there is such a parameter of the path or of the query; bodies are checked where they are read."""
    where, _, name = subject.where.partition(".")
    match where:
        case "path":
            return f"{{{name}}}" in route.path.replace("...", "")
        case "query":
            query = operation_of(route)["query"]
            return name in {parameter.rstrip("?") for parameter in query}
    return where == "body"


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_every_route_says_what_it_is_about(route: Route) -> None:
    access = route.access
    assert (access.reach is Reach.NAMED) <= bool(access.subjects), "what the request names must be said"
    assert all(declared(route, subject) for subject in access.subjects)
    assert {subject.permission for subject in access.subjects} <= PERMISSIONS | {""}
    ids = set(re.findall(r"{(\w*[iI]d|checkpointUuid)}", route.path))
    elsewhere = IDS_OUTSIDE | ({"projectId"} if access.reach is Reach.SCOPE else set())
    assert ids <= {subject.where.partition(".")[2] for subject in access.subjects} | elsewhere


def test_a_route_that_does_not_say_what_it_is_about_cannot_be_made() -> None:
    with pytest.raises(AssertionError, match="GetThings: say what it is about"):
        Route("GetThings", "GET", "/things", ROUTES[0].handler, SIGNED_IN.to("experiment.view"), ROUTES[0].declared)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_a_tasks_token_never_opens_what_names_nothing_of_its_own(route: Route) -> None:
    if route.operation not in OPEN:
        strangers = [Owned(subject.kind, "999", experiment_id=999) for subject in route.access.subjects]
        assert decide(route.access, TASK_OF_TRIAL_4, strangers) is Verdict.DENIED
        assert decide(route.access, TASK_OF_TRIAL_4, ()) is Verdict.DENIED
        if (
            route.operation != "EnterTask"
        ):  # it lets strangers to the sshd of shells: tests/integration/api/test_shells.py
            assert decide(route.access, None, strangers) is Verdict.UNKNOWN


def test_no_operation_and_no_place_is_served_twice() -> None:
    operations = Counter(route.operation for route in ROUTES)
    places = Counter((route.method, route.path) for route in ROUTES)
    assert [name for name, count in (operations | places).items() if count > 1] == []


def test_only_an_administrator_gets_through_an_administrators_door() -> None:
    assert decide(ADMIN, ADMINISTRATOR, ()) is Verdict.ALLOWED
    assert decide(ADMIN, USER, ()) is Verdict.DENIED
    assert decide(ADMIN | SELF.about("user", "userId"), USER, [Owned("user", "2")]) is Verdict.ALLOWED
    assert decide(ADMIN | SELF.about("user", "userId"), USER, [Owned("user", "3")]) is Verdict.DENIED


@pytest.mark.parametrize(
    "owned",
    [
        Owned("task", "task-4"),
        Owned("allocation", "alloc-9"),
        Owned("trial", "4"),
        Owned("experiment", "3"),
        Owned("checkpoint", "any", experiment_id=3),
    ],
)
def test_a_task_may_do_what_concerns_itself_and_nothing_beside(owned: Owned) -> None:
    access = TASK.about(owned.kind, "it")
    assert decide(access, TASK_OF_TRIAL_4, [owned]) is Verdict.ALLOWED
    assert decide(access, TASK_OF_TRIAL_4, [owned, Owned("trial", "5")]) is Verdict.DENIED
    assert decide(SIGNED_IN, TASK_OF_TRIAL_4, [owned]) is Verdict.DENIED
    assert decide(access, USER, [owned]) is Verdict.DENIED


def test_every_element_of_a_list_counts() -> None:
    body = {"logs": [{"taskId": "task-4"}, {"taskId": "task-5"}]}
    assert Subject("task", "body.logs.taskId").values({}, body) == ["task-4", "task-5"]
    assert Subject("trial", "path.trialId").values({"trialId": "4"}, body) == ["4"]
    assert Subject("task", "body.taskId").values({}, {}) == []
    assert Subject("trial", "query.trialIds").values({}, {}, {"trialIds": ["4", "", "5"]}) == ["4", "5"]


def test_what_a_request_may_leave_out_names_nothing_when_it_is_empty() -> None:
    parent = Subject("experiment", "body.parentId", optional=True)
    assert [parent.values({}, {"parentId": value}) for value in (7, 0, None, "")] == [["7"], [], [], []]
    assert Subject("allocation", "body.allocationId").values({}, {"allocationId": None}) == ["None"], "of no task"


ACCESSES = st.sets(st.sampled_from(sorted(Caller, key=lambda caller: caller.name))).map(
    lambda callers: Access(frozenset(callers))
)


@hypothesis.given(ACCESSES, st.booleans())
def test_whoever_is_nobody_gets_in_only_where_anyone_does(access: Access, admin: bool) -> None:
    allowed = decide(access, None, ()) is Verdict.ALLOWED
    assert allowed == (Caller.ANYONE in access.callers)
    if allowed:
        assert decide(access, Principal(5, "eve", admin=admin), ()) is Verdict.ALLOWED
    assert decide(access | ANYONE, None, ()) is Verdict.ALLOWED
