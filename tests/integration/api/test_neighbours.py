"""What the table of routes denies is denied over HTTP, to each kind of caller, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

from resolute.api.routing import Route
from resolute.api.subjects import Subject
from resolute.api.table import ROUTES
from tests.integration.api.running import Client
from tests.integration.api.whole import CONFIG, NOWHERE, Whole, whole
from tests.unit.api.test_who_may_do_what import may

UUID = str(uuid4())

WEBHOOK = {
    "name": "of the neighbour",
    "url": NOWHERE,
    "triggers": [{"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "condition": {"state": "DELETED"}}],
}

LISTS = {"logs", "checkpoints", "checkpointUuids", "updates", "batches"}
"""Fields that hold a list wherever a subject passes through them."""

NAMES = {"workspaceId": "1", "projectId": "1", "userId": "2", "username": "determined", "label": "l", "jobId": "1"}


def body_naming(subjects: tuple[Subject, ...], values: dict[str, str]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for subject in subjects:
        where, *keys = subject.where.split(".")
        if where == "body":
            _put(body, keys, values[subject.kind])
    return body


def _put(body: dict[str, Any], keys: list[str], value: str) -> None:
    key, *rest = keys
    if not rest:
        body[key] = [value] if key in LISTS else value
    elif key in LISTS:
        _put(body.setdefault(key, [{}])[0], rest, value)
    else:
        _put(body.setdefault(key, {}), rest, value)


def call_of(route: Route, values: dict[str, str]) -> tuple[str, str, Any]:
    """A call about what is the owner's, by method, path and body."""
    names = {subject.where.partition(".")[2]: values[subject.kind] for subject in route.access.subjects}
    path = route.path.replace("...}", "}")
    for part in path.split("{")[1:]:
        name = part.partition("}")[0]
        path = path.replace(f"{{{name}}}", str(names.get(name) or NAMES.get(name) or "1"))
    body = body_naming(route.access.subjects, values)
    return route.method, path, [body] if route.operation == "LegacyTaskLogs" else body


async def test_whoever_is_not_let_in_changes_nothing(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        callers, values = await neighbourhood(cluster)
        before = await left_behind(cluster)
        for route in ROUTES:
            for name in callers.keys() - may(route.operation):
                method, path, body = call_of(route, values)
                answer = await callers[name].call(method, path, body)
                # The way in to tasks is for people: the token of a task counts for nothing there.
                unknown = name == "stranger" or route.operation.startswith("EnterTask")
                assert answer.status == (401 if unknown else 403), (name, route.operation, answer.body)
        assert await left_behind(cluster) == before


WITH_SECRETS = """
name: secretive
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 100}}
resources: {slots_per_trial: 1}
environment: {environment_variables: ["PASSWORD=planted in the environment"]}
"""


async def test_environment_variables_are_shown_to_the_owner_and_to_administrators_alone(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        callers, values = await neighbourhood(cluster, WITH_SECRETS)
        shown = dict.fromkeys(callers, 0)
        for route in ROUTES:
            if route.method == "GET" and not route.operation.startswith("Allocation"):
                for name in callers.keys() & may(route.operation):
                    method, path, _ = call_of(route, values)
                    answer = await callers[name].call(method, path)
                    shown[name] += "planted in the environment" in str(answer.body)
        assert {name for name, times in shown.items() if times} == {"owner", "admin", "own task"}


async def neighbourhood(cluster: Whole, config: str = CONFIG) -> tuple[dict[str, Client], dict[str, str]]:
    """Every kind of caller, and what all their calls are about: a running trial of `determined` with a checkpoint."""
    agent = await cluster.agent(slots=2)
    await cluster.submit(config=config)
    order, own = await cluster.task(agent)
    await cluster.submit()
    _, another = await cluster.task(agent)
    admin = await cluster.nobody.login("admin")
    await admin.post("/api/v1/users", {"user": {"username": "bob", "active": True, "admin": False}, "password": "s"})
    checkpoint = {"uuid": UUID, "taskId": order.spec.task_id, "allocationId": order.spec.allocation_id}
    finished = {"state": "STATE_COMPLETED", "resources": {"a": 1}, "metadata": {"steps_completed": 1}}
    await own.post("/api/v1/checkpoints", {**checkpoint, **finished})
    home = (await cluster.user.post("/api/v1/workspaces", {"name": "of webhooks"}))["workspace"]["id"]
    await cluster.user.post("/api/v1/webhooks", {**WEBHOOK, "workspaceId": home})
    await cluster.user.post("/api/v1/models", {"name": "digits"})
    await cluster.user.post("/api/v1/models/digits/versions", {"modelName": "digits", "checkpointUuid": UUID})
    await cluster.user.post("/api/v1/templates/small", {"name": "small", "config": {"max_restarts": 1}})
    waiting = {kind: await waiting_task(cluster, kind) for kind in ("command", "notebook", "shell")}
    callers = {
        "stranger": cluster.nobody,
        "other": await cluster.nobody.login("bob", "s"),
        "owner": cluster.user,
        "admin": admin,
        "own task": own,
        "other task": another,
    }
    values = {"user": "2", "task": order.spec.task_id, "allocation": order.spec.allocation_id, "trial": "1"}
    values |= {"project": "1", "job": "1", "model": "digits", "webhook": "1", "template": "small"}
    values |= {**waiting, "experiment": "1", "workspace": "1", "checkpoint": UUID, "readable checkpoint": UUID}
    return callers, values


async def waiting_task(cluster: Whole, kind: str) -> str:
    """The id of a task of `determined` that waits, and to which nothing more happens by itself."""
    made = await cluster.user.post(f"/api/v1/{kind}s", {"config": {"entrypoint": ["true"]}})
    task_id = str(made[kind]["id"])

    async def waits() -> bool:
        explained = await cluster.user.call("GET", f"/api/v1/jobs/{task_id}/explain")
        return explained.status == 200 and any(one.get("waits") for one in explained.body["allocations"])

    await cluster.until(waits)
    return task_id


async def left_behind(cluster: Whole) -> tuple[Any, ...]:
    """What a call could have left: events, and measurements of the trial."""
    workloads = await cluster.user.get("/api/v1/trials/1/workloads")
    logs = await cluster.user.call("GET", "/api/v1/trials/1/logs?sources=task")
    metadata = await cluster.user.get("/api/v1/runs/1/metadata")
    return await cluster.log.head(), workloads, logs.body, metadata


async def test_what_another_owns_is_deleted_by_nobody_else_however_it_is_named(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        callers, _ = await neighbourhood(cluster)
        bob = callers["other"]
        unknown = str(uuid4())
        for uuids, status in (([UUID], 403), ([UUID, unknown], 404), ([unknown], 404), ([], 403)):
            answer = await bob.call("DELETE", "/api/v1/checkpoints", {"checkpoint_uuids": uuids})
            assert answer.status == status, (uuids, answer.body)
        policy = {"checkpoint_storage": {"save_trial_latest": 0}}
        assert (await bob.call("PATCH", "/api/v1/experiments/1", policy)).status == 403
        assert (await bob.call("PATCH", "/api/v1/experiments/1", {"name": "bob was here"})).status == 200
        assert (await bob.call("POST", "/api/v1/experiments/1/pause")).status == 200
        assert (await cluster.user.call("PATCH", "/api/v1/experiments/1", policy)).status == 200
        kept = (await bob.get(f"/api/v1/checkpoints/{UUID}"))["checkpoint"]
        assert kept["state"] == "STATE_COMPLETED"
