"""Every operation, called by strangers to what it names: to them it does not exist.

There are two workspaces. The strangers administer one of them; all that is planted lies in the other. They are a
user, an administrator (which counts for nothing where roles decide) and the task of a trial. What an operation names,
and where, is taken from the table of routes: a new one is covered by itself, or the test says what it lacks to call it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from resolute.api.gateway import Gateway
from resolute.api.role_grants import RoleGrants
from resolute.api.routing import Caller, Principal, Route
from resolute.api.scope import Held
from resolute.api.subjects import Reach
from resolute.api.table import ROUTES
from resolute.config.rights import CLUSTER_ADMIN, WORKSPACE_ADMIN, Rights
from tests.integration.api.running import Client
from tests.integration.api.test_neighbours import body_naming
from tests.integration.api.whole import NOWHERE, Agent, Whole, whole

T = TypeVar("T")

PLANTED = "planted"
"""In every name, label, metric, line, file and setting of what the strangers must not see."""

CONFIG = """
name: {mark} experiment
description: {mark} description
labels: [{mark}-label]
workspace: {mark} workspace
project: {mark} project
entrypoint: python3 train.py
hyperparameters: {{{mark}_rate: 1}}
searcher: {{name: single, metric: {mark}_loss, max_length: {{batches: 100}}}}
resources: {{slots_per_trial: 1}}
environment: {{environment_variables: ["WHERE={mark}"]}}
max_restarts: 0
"""

DELETED = {"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "condition": {"state": "DELETED"}}

FIGURES_OF_THE_CLUSTER = {"GetAgents", "GetAgent", "GetSlots", "GetSlot", "GetResourcePools", "GetJobQueueStats"}
"""They count what the cluster's slots and pools do for everybody, and name nobody."""

ACTED_ON_ONESELF = {"Logout", "PostUserSetting", "ResetUserSetting", "PreviewHPSearch"}
"""They name nothing, and change or answer nothing but the caller's own."""

PATH: Mapping[str, str] = {
    **{
        "tokenId": "1",
        "label": "l",
        "resourcesId": "r",
        "agentId": "agent-0",
        "resourcePoolName": "default",
        "slotId": "0",
        "userId": "2",
        "username": "determined",
    },
    "groupId": "1",
    "requestId": "req-0",
    "modelVersionNum": "1",
    "templateName": "new template",
    "workloadType": "EXPERIMENT",
    "externalExperimentId": "new experiment",
    "externalTrialId": "new trial",
    "projectId": "-1",
    "key": PLANTED,
}
"""What else is in paths."""

CHARTS = ("MetricBatches", "TrialsSample", "TrialsSnapshot")

GO_ON = {"ExpMetricNames", *CHARTS}
"""Streams that end when the experiment does. It is enough to see how they begin."""

QUERY: Mapping[str, Mapping[str, Any]] = {
    "CompareTrials": {"metricNames": f"{PLANTED}_loss"},
    **{name: {"group": "validation", "metricName": f"{PLANTED}_loss"} for name in CHARTS},
    "TrialLogs": {"follow": "true"},
    "TaskLogs": {"follow": "true"},
    "TrialLogsFields": {"follow": "true"},
    "TaskLogsFields": {"follow": "true"},
    "GetSearcherEvents": {"timeoutSeconds": 60},
    "GetCurrentTrialSearcherOperation": {"timeoutSeconds": 60},
    "AllocationPreemptionSignal": {"timeoutSeconds": 60},
    "DownloadModelDefFile": {"path": "train.py"},
}
"""What else is in query strings; the longest forms of what can wait."""

BULK = ({"experimentIds": ["experiment"]}, {"filters": {"projectId": "project"}})
"""Many experiments: named, and found by filters."""

VIEWER_THERE = {"role": {"roleId": 4}, "scopeWorkspaceId": "workspace"}

ASSIGNMENTS: tuple[Mapping[str, Any], ...] = (
    {"userRoleAssignments": [{"userId": 2, "roleAssignment": VIEWER_THERE}]},
    {"groupRoleAssignments": [{"groupId": 1, "roleAssignment": VIEWER_THERE}]},
)

SUBMISSIONS: tuple[Mapping[str, Any], ...] = (
    {"config": "hidden project by name"},
    {"config": "own", "projectId": "project"},
    {"config": "own", "parentId": "experiment"},
    {"config": "own", "template": "template"},
    {"config": "own, from a checkpoint"},
    {"config": "own, from a trial"},
)

MANY: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    **dict.fromkeys(("AssignRoles", "RemoveAssignments"), ASSIGNMENTS),
    **{
        f"{verb}Experiments": BULK for verb in ("Activate", "Pause", "Cancel", "Kill", "Archive", "Unarchive", "Delete")
    },
    "MoveExperiments": tuple({**body, "destinationProjectId": "own project"} for body in BULK),
    **dict.fromkeys(
        ("LaunchCommand", "LaunchNotebook", "LaunchShell"),
        (
            {"config": {"entrypoint": ["true"]}, "workspaceId": "workspace"},
            {"config": {"entrypoint": ["true"]}, "workspaceId": "own workspace", "templateName": "template"},
        ),
    ),
    "PostModel": (
        {"name": "new", "workspaceId": "workspace"},
        {"name": "new", "workspaceName": "hidden workspace by name"},
    ),
    **dict.fromkeys(("SearchRuns", "SearchExperiments"), ({"projectId": "project"},)),
    **{
        f"{verb}Runs": ({"runIds": ["trial"], "projectId": "project"}, {"filter": "{}", "projectId": "project"})
        for verb in ("Pause", "Resume", "Kill", "Archive", "Unarchive")
    },
    "PostUserActivity": (
        {"activityType": "ACTIVITY_TYPE_GET", "entityType": "ENTITY_TYPE_PROJECT", "entityId": "project"},
    ),
    "MoveRuns": tuple(
        {**body, "sourceProjectId": "project", "destinationProjectId": "own project"}
        for body in ({"runIds": ["trial"]}, {"filter": "{}"})
    ),
    **{operation: ({"workspaceId": "workspace"},) for operation in ("PostTemplate", "PutTemplate")},
    "PutExperimentsRetainLogs": tuple({**body, "numDays": 1} for body in BULK),
    "CreateExperiment": SUBMISSIONS,
    "PutExperiment": tuple({**body, "unmanaged": True} for body in SUBMISSIONS),
}
"""Bodies of what acts on the caller's scope. A text that is the kind of a thing stands for that thing."""

WAITING = {"follow", "timeoutSeconds"}

FOUND = {"DownloadCheckpoint": 404, "GetSearcherEvents": 409, "TrialsSample": 400}
"""How what is found is answered, other than with 200: the files of the checkpoint were never written, the search needs
no client, and it has a single trial."""

ABSENT = 987_654


@dataclass(frozen=True)
class Things:
    """What calls are about, by kind."""

    values: Mapping[str, str]

    def fill(self, value: Any) -> Any:
        """`value`, where the kind of a thing stands for the thing."""
        if isinstance(value, Mapping):
            return {key: self.fill(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.fill(each) for each in value]
        found = self.values.get(value) if isinstance(value, str) else None
        return value if found is None else int(found) if found.isdecimal() else found


@dataclass(frozen=True)
class Request:
    route: Route
    path: str
    query: Mapping[str, Any]
    body: Any


@dataclass
class Roles:
    """The grants of a cluster in which some administer some workspaces, and all others the cluster."""

    within: dict[str, frozenset[int]] = field(default_factory=dict)
    by_roles = True

    async def held(self, user: Principal, permissions: Collection[str]) -> Mapping[str, Held]:
        within = self.within.get(user.username)
        assigned = {(CLUSTER_ADMIN.id, None)} if within is None else {(WORKSPACE_ADMIN.id, one) for one in within}

        async def rights_of(user_id: int) -> Rights:
            return Rights(frozenset(assigned))

        return await RoleGrants(rights_of).held(user, permissions)


@dataclass
class Town:
    cluster: Whole
    strangers: Mapping[str, Client]
    hidden: Things
    absent: Things
    traces: set[str]
    """Ids of what is hidden that nothing else is called by."""

    async def send(self, caller: str, request: Request) -> tuple[int, Any]:
        client = self.strangers[caller]
        answer = await client.call(request.route.method, request.path, request.body, params=request.query)
        return answer.status, answer.body


@pytest.fixture
async def town(
    postgres_dsn: str, nats_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Town]:
    roles = Roles()
    monkeypatch.setattr(Gateway, "grants", roles)
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent(slots=2)
        async with agent.alive():
            yield await populated(cluster, agent, roles)


async def populated(cluster: Whole, agent: Agent, roles: Roles) -> Town:
    admin = await cluster.nobody.login("admin")
    for name, is_admin in (("eve", False), ("mallory", True)):
        made = {"username": name, "active": True, "admin": is_admin}
        await admin.post("/api/v1/users", {"user": made, "password": "s"})
    eve, mallory = [await cluster.nobody.login(name, "s") for name in ("eve", "mallory")]
    theirs, hidden = await home(admin, "own"), await home(cluster.user, PLANTED)
    task, traces = await experiment(cluster, cluster.user, agent, PLANTED)
    roles.within = dict.fromkeys(("eve", "mallory"), frozenset({int(theirs["workspace"])}))
    own, _ = await experiment(cluster, eve, agent, "own")
    for owner, mark in ((cluster.user, PLANTED), (eve, "own")):  # all slots are taken: these wait
        job = (await owner.post("/api/v1/experiments", submission(mark)))["experiment"]["jobId"]
        await eventually(cluster, partial(waits, cluster.user, job))
    own_home = {"own project": theirs["project"], "own workspace": theirs["workspace"]}
    tasks = {kind: await waiting(cluster, kind, hidden["workspace"]) for kind in ("command", "notebook", "shell")}
    things = Things(
        {
            **task,
            **hidden,
            **tasks,
            "user": "2",
            **own_home,
            "own job": job,
        }
    )
    strangers = {"user": eve, "administrator": mallory, "task": cluster.known_as(own["token"])}
    return Town(cluster, strangers, things, unknown(things), traces)


def unknown(things: Things) -> Things:
    """Things that do not exist, by the same kinds."""
    values = {
        kind: value if kind.startswith("own") or kind == "user" else str(ABSENT) if value.isdecimal() else str(uuid4())
        for kind, value in things.values.items()
    }
    return Things(values)


def submission(mark: str) -> dict[str, Any]:
    code = [{"path": "train.py", "type": 48, "content": "cHJpbnQoKQ==", "mode": 420}]
    return {"config": CONFIG.format(mark=mark), "modelDefinition": code, "activate": True}


async def home(client: Client, mark: str) -> dict[str, str]:
    workspace = (await client.post("/api/v1/workspaces", {"name": f"{mark} workspace"}))["workspace"]["id"]
    made = await client.post(f"/api/v1/workspaces/{workspace}/projects", {"name": f"{mark} project"})
    await client.post(
        "/api/v1/models", {"name": f"{mark} model", "workspaceId": workspace, "labels": [f"{mark}-label"]}
    )
    # The second counts: its number is that of no other thing here.
    for name in (f"{mark} webhook", f"{mark} second webhook"):
        new = {"name": name, "url": NOWHERE, "workspaceId": workspace, "triggers": [DELETED]}
        webhook = await client.post("/api/v1/webhooks", new)
    template = {"name": mark, "config": {"name": mark}, "workspaceId": workspace}
    await client.post(f"/api/v1/templates/{mark} template", template)
    return {
        "workspace": str(workspace),
        "project": str(made["project"]["id"]),
        "model": f"{mark} model",
        "webhook": str(webhook["webhook"]["id"]),
        "template": f"{mark} template",
    }


async def eventually(cluster: Whole, look: Callable[[], Awaitable[T]]) -> T:
    """What `look` finds, once it finds anything: the gateway follows the log."""
    found: list[T] = []

    async def there() -> bool:
        if one := await look():
            found.append(one)
        return bool(found)

    await cluster.until(there)
    return found[0]


async def trials(client: Client, experiment_id: int) -> list[Any]:
    shown: list[Any] = (await client.get(f"/api/v1/experiments/{experiment_id}/trials"))["trials"]
    return shown


async def waits(client: Client, job_id: str) -> bool:
    """Whether the job waits in the queue and its reason is recorded: nothing more happens to it by itself. A job that
    was just launched may not be in the queue yet."""
    answer = await client.call("GET", f"/api/v1/jobs/{job_id}/explain")
    if answer.status == 404:
        return False
    explained = answer.body
    return any(allocation.get("waits", {}).get("rule") for allocation in explained["allocations"])


async def waiting(cluster: Whole, kind: str, workspace: str) -> str:
    """A task of a kind that waits for a slot."""
    config = {"entrypoint": [PLANTED], "description": PLANTED}
    made = await cluster.user.post(f"/api/v1/{kind}s", {"config": config, "workspaceId": int(workspace)})
    task_id = str(made[kind]["id"])
    await eventually(cluster, partial(waits, cluster.user, task_id))
    return task_id


async def experiment(cluster: Whole, owner: Client, agent: Agent, mark: str) -> tuple[dict[str, str], set[str]]:
    """A running trial with a metric, a line of its log and a checkpoint: what there is, by kind, and what of it is
    named by an id that nothing else has."""
    shown = (await owner.post("/api/v1/experiments", submission(mark)))["experiment"]
    order, task = await cluster.task(agent)
    task_id, allocation_id = order.spec.task_id, order.spec.allocation_id
    [trial] = await eventually(cluster, partial(trials, owner, shown["id"]))
    trial_id = str(trial["id"])
    report = {"trialId": trial_id, "stepsCompleted": 1, "metrics": {"avgMetrics": {f"{mark}_loss": 0.5}}}
    await task.post(f"/api/v1/trials/{trial_id}/metrics", {"metrics": report, "group": "validation"})
    await task.post("/api/v1/task/logs", {"logs": [{"taskId": task_id, "log": f"{mark} line\n"}]})
    uuid = str(uuid4())
    about = {"uuid": uuid, "taskId": task_id, "allocationId": allocation_id, "state": "STATE_COMPLETED"}
    metadata = {"steps_completed": 1, mark: mark}
    await task.post("/api/v1/checkpoints", {**about, "resources": {f"{mark}.pt": 1}, "metadata": metadata})
    await owner.post(f"/api/v1/models/{mark} model/versions", {"modelName": mark, "checkpointUuid": uuid})
    named = {"experiment": str(shown["id"]), "trial": trial_id, "job": str(shown["jobId"]), "task": task_id}
    named |= {"allocation": allocation_id, "checkpoint": uuid, "readable checkpoint": uuid, "token": order.token}
    return named, {task_id, uuid, str(shown["jobId"])}


# ---------------------------------------------------------------- what is called, and how


def requests(route: Route, things: Things) -> Iterator[Request]:
    """The calls of an operation that are about `things`."""
    lacking = {one.kind for one in route.access.subjects} - things.values.keys()
    assert not lacking, f"{route.operation} names a {lacking}: `experiment` or `home` has to plant one"
    query = {**QUERY.get(route.operation, {}), **_named_in(route, things, "query")}
    for body in bodies(route, things):
        yield Request(route, path_of(route, things), query, body)


def path_of(route: Route, things: Things) -> str:
    entered = {"service": things.values["task"], "path": "a/b"} if route.passes_on else {}
    names = {**PATH, **entered, **_named_in(route, things, "path")}
    parts = re.findall(r"{(\w+)", route.path)
    lacking = [name for name in parts if name not in names]
    assert not lacking, (
        f"{route.operation} has {lacking} in its path: say in PATH what stands there, or name it (about)"
    )
    return re.sub(r"{(\w+)(\.\.\.)?}", lambda found: names[found[1]], route.path)


def _named_in(route: Route, things: Things, part: str) -> dict[str, str]:
    subjects = (subject for subject in route.access.subjects if subject.where.startswith(f"{part}."))
    return {subject.where.partition(".")[2]: things.values[subject.kind] for subject in subjects}


def bodies(route: Route, things: Things) -> list[Any]:
    if route.access.reach is Reach.SCOPE and route.method != "GET":
        assert route.operation in MANY, f"{route.operation} acts on a scope: say in MANY how to name what is hidden"
    if route.operation in MANY:
        return [with_config(things.fill(body), things) for body in MANY[route.operation]]
    body = body_naming(route.access.subjects, dict(things.values))
    return [[body] if route.operation == "LegacyTaskLogs" else body] if route.method != "GET" else [None]


def with_config(body: dict[str, Any], things: Things) -> dict[str, Any]:
    """The configuration that a submission's body says in words, or the name of a workspace."""
    values = things.values
    known = values["project"] != str(ABSENT)
    if "workspaceName" in body:
        return {**body, "workspaceName": f"{PLANTED if known else 'absent'} workspace"}
    if not isinstance(body.get("config"), str):
        return body
    own = CONFIG.format(mark="own")
    texts = {
        "own": own,
        "hidden project by name": CONFIG.format(mark=PLANTED if known else "absent"),
        "own, from a checkpoint": own.replace(
            "searcher: {", f"searcher: {{source_checkpoint_uuid: {values['checkpoint']}, "
        ),
        "own, from a trial": own.replace("searcher: {", f"searcher: {{source_trial_id: {values['trial']}, "),
    }
    return {**body, "config": texts[body["config"]]}


def compared(answer: tuple[int, Any], things: Things) -> tuple[int, Any]:
    """An answer, without what told one thing from another in the request."""
    own = {value for kind, value in things.values.items() if kind.startswith("own") or kind == "user"}
    names = sorted({*things.values.values(), PLANTED, "absent"} - own, key=len, reverse=True)
    known = re.compile(rf"\b({'|'.join(re.escape(name) for name in names)})\b")

    def masked(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: masked(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [masked(each) for each in value]
        if isinstance(value, bytes):
            return known.sub("#", value.decode())
        return "#" if key == "id" else known.sub("#", value) if isinstance(value, str) else value

    return answer[0], masked(answer[1])


def called() -> Iterator[Route]:
    for route in ROUTES:
        if Caller.ANYONE not in route.access.callers and route.operation not in ACTED_ON_ONESELF:
            yield route


def names_what_is_hidden(route: Route) -> bool:
    return bool(route.access.subjects) or route.operation in MANY or route.passes_on


async def left_behind(town: Town) -> Any:
    user, values = town.cluster.user, town.hidden.values
    trial, log = values["trial"], await user.call("GET", f"/api/v1/trials/{values['trial']}/logs?sources=task")
    metadata = await user.get(f"/api/v1/runs/{trial}/metadata")
    return await town.cluster.log.head(), await user.get(f"/api/v1/trials/{trial}/workloads"), log.body, metadata


# ---------------------------------------------------------------- the stories


async def test_what_lies_outside_of_the_scope_is_answered_as_what_does_not_exist_and_is_not_changed(town: Town) -> None:
    faults: list[str] = []
    before = await left_behind(town)
    for route in called():
        pairs = zip(requests(route, town.hidden), requests(route, town.absent), strict=True)
        for hidden, absent in pairs:
            for caller in town.strangers:
                first = compared(await town.send(caller, hidden), town.hidden)
                second = compared(await town.send(caller, absent), town.absent)
                if route.access.reach is Reach.NAMED and first[0] not in (403, 404):
                    faults.append(f"{route.operation}, {caller}: let in with {first}")
                if names_what_is_hidden(route) and first != second:
                    faults.append(
                        f"{route.operation}, {caller}: {first} for what is hidden, {second} for what is not there"
                    )
    assert not faults, "\n".join(faults)
    assert await left_behind(town) == before


async def test_where_the_scope_is_everything_the_same_requests_find_it(town: Town) -> None:
    for route in called():
        if route.method == "GET" and route.access.reach is Reach.NAMED and Caller.SIGNED_IN in route.access.callers:
            for request in requests(route, town.hidden):
                query = {name: value for name, value in request.query.items() if name not in WAITING}
                status, body = await begun(town.cluster.user, request.path, query, whole=route.operation not in GO_ON)
                assert status == FOUND.get(route.operation, 200), (route.operation, body)


async def begun(client: Client, path: str, query: Mapping[str, Any], *, whole: bool) -> tuple[int, Any]:
    """The status of an answer, and all of it, or its first line."""
    if whole:
        answer = await client.call("GET", path, params=query)
        return answer.status, answer.body
    headers = {"Authorization": f"Bearer {client.token}"}
    async with client.http.get(client.base + path, params=query, headers=headers) as response:
        return response.status, await response.content.readline()


async def test_nothing_of_what_lies_outside_of_the_scope_is_shown_or_counted(town: Town) -> None:
    lists = [
        route
        for route in called()
        if route.access.reach is not Reach.NAMED and route.method == "GET" and not route.passes_on
    ]
    shown = await everything(town, lists)
    told = {name: [one for one in (PLANTED, *town.traces) if one in str(answers)] for name, answers in shown.items()}
    assert {name: marks for name, marks in told.items() if marks} == {}
    await home(town.cluster.user, f"{PLANTED} second")
    another = (await town.cluster.user.post("/api/v1/experiments", submission(PLANTED)))["experiment"]["jobId"]
    await eventually(town.cluster, partial(waits, town.cluster.user, another))
    again = await everything(town, lists)
    counted = {name for name in shown if again[name] != shown[name]}
    assert counted - FIGURES_OF_THE_CLUSTER == set()


async def test_a_job_that_waits_behind_others_is_explained_without_their_names(town: Town) -> None:
    path = f"/api/v1/jobs/{town.hidden.values['own job']}/explain"
    explained = await town.strangers["user"].get(path)
    assert PLANTED in str(await town.cluster.user.get(path))
    assert PLANTED not in str(explained)
    assert town.hidden.values["job"] in str(explained), "the queue is everybody's: an id says that somebody is there"


async def everything(town: Town, routes: list[Route]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for route in routes:
        for request in requests(route, town.hidden):
            found[route.operation] = [await town.send(caller, request) for caller in town.strangers]
    return found
