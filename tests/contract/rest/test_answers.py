"""Every answer is one that existing clients can decode."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
import pytest

from resolute.api import asking
from resolute.api.kernel import declared
from resolute.api.table import ROUTES
from tests.contract.rest.schema import OPERATIONS, problems, problems_by_document
from tests.integration.api import a_search
from tests.integration.api.running import Client, Running, running
from tests.integration.api.test_experiments import CONFIG, TRAIN

BY_OPERATION = {route.operation: route for route in ROUTES}


def test_every_route_declares_what_its_path_has() -> None:
    for route in ROUTES:
        assert declared.path_of(route.declared.request).keys() == set(re.findall(r"{(\w+)", route.path))


@dataclass
class Told:
    cluster: Running
    admin: Client


@pytest.fixture
async def told(postgres_dsn: str, tmp_path: Path) -> AsyncIterator[Told]:
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        yield Told(cluster, await cluster.nobody.login("admin"))


async def test_what_is_read_can_be_decoded(told: Told) -> None:
    """Each GET, for each entity of a search that has some of everything."""
    wrong: dict[str, list[str]] = {}
    decoded: set[str] = set()
    for path in chain.from_iterable(await asking.paths_of(told.cluster.gateway.read)):
        operation = _operation(path)
        answer = await told.admin.call("GET", path)
        if answer.status != 200:
            continue
        decoded.add(operation)
        for document in _documents(operation, answer.body):
            if found := problems(operation, document) + problems_by_document(operation, document):
                wrong[path] = found
    assert wrong == {}
    assert len(decoded) > 35


def _operation(path: str) -> str:
    """The route that answers `path`: one with words where another has a parameter comes first."""
    for route in sorted(ROUTES, key=lambda route: route.path.count("{")):
        if route.method == "GET" and re.fullmatch(re.sub(r"{[^}]*}", "[^/]+", route.documented_path), path):
            return route.operation
    raise AssertionError(path)


def _documents(operation: str, body: Any) -> list[Any]:
    if not OPERATIONS[operation].get("stream"):
        return [body]
    lines = body if isinstance(body, bytes) else orjson.dumps(body)
    return [orjson.loads(line)["result"] for line in lines.splitlines()]


async def test_what_is_done_answers_what_clients_expect(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        admin = await cluster.nobody.login("admin")
        create = {"config": CONFIG, "modelDefinition": TRAIN, "activate": False}
        user = {"user": {"username": "bob", "admin": False, "active": True}, "password": "", "isHashed": True}
        script: list[tuple[str, str, Any]] = [
            ("Login", "/api/v1/auth/login", {"username": "determined", "password": "", "isHashed": True}),
            ("PostUser", "/api/v1/users", user),
            ("PatchUser", "/api/v1/users/3", {"displayName": "Bob"}),
            ("PatchUsers", "/api/v1/users", {"userIds": [3], "activate": True}),
            ("SetUserPassword", "/api/v1/users/3/password", "b" * 128),
            ("PostUserSetting", "/api/v1/users/setting", {"settings": [{"key": "k", "value": "v"}]}),
            ("GetUserSetting", "/api/v1/users/setting", None),
            ("ResetUserSetting", "/api/v1/users/setting/reset", None),
            ("PostWorkspace", "/api/v1/workspaces", {"name": "vision"}),
            ("PostProject", "/api/v1/workspaces/2/projects", {"name": "digits", "workspaceId": 2}),
            ("CreateExperiment", "/api/v1/experiments", {**create, "validateOnly": True}),
            ("CreateExperiment", "/api/v1/experiments", create),
            ("GetModelDef", "/api/v1/experiments/1/model_def", None),
            ("GetModelDefTree", "/api/v1/experiments/1/file_tree", None),
            ("GetModelDefFile", "/api/v1/experiments/1/file", {"experimentId": 1, "path": "train.py"}),
            ("PatchExperiment", "/api/v1/experiments/1", {"id": 1, "name": "other"}),
            ("PutExperimentLabel", "/api/v1/experiments/1/labels/a", None),
            ("DeleteExperimentLabel", "/api/v1/experiments/1/labels/a", None),
            ("MoveExperiment", "/api/v1/experiments/1/move", {"experimentId": 1, "destinationProjectId": 2}),
            ("ActivateExperiment", "/api/v1/experiments/1/activate", None),
            ("PauseExperiment", "/api/v1/experiments/1/pause", None),
            ("ActivateExperiments", "/api/v1/projects/2/experiments/activate", {"experimentIds": [1], "projectId": 2}),
            ("SearchRuns", "/api/v1/runs", {"sort": "id=desc"}),
            ("SearchExperiments", "/api/v1/experiments-search", {"projectId": 2}),
            ("ListRPsBoundToWorkspace", "/api/v1/workspaces/1/available-resource-pools", None),
            ("ListWorkspacesBoundToRP", "/api/v1/resource-pools/default/workspace-bindings", None),
            ("PauseRuns", "/api/v1/runs/pause", {"projectId": 2, "runIds": [1, 99]}),
            ("ResumeRuns", "/api/v1/runs/resume", {"projectId": 2, "runIds": [1]}),
            ("MoveRuns", "/api/v1/runs/move", {"sourceProjectId": 2, "destinationProjectId": 2, "runIds": [1]}),
            ("ArchiveRuns", "/api/v1/runs/archive", {"projectId": 2, "runIds": [1]}),
            ("UnarchiveRuns", "/api/v1/runs/unarchive", {"projectId": 2, "runIds": [1, 99]}),
            ("KillRuns", "/api/v1/runs/kill", {"projectId": 2, "runIds": [1]}),
            ("KillTrial", "/api/v1/trials/1/kill", None),
            ("CancelExperiment", "/api/v1/experiments/1/cancel", None),
            ("KillExperiments", "/api/v1/projects/2/experiments/kill", {"filters": {"name": "o"}, "projectId": 2}),
            ("Logout", "/api/v1/auth/logout", None),
        ]
        for operation, path, body in script:
            answer = await admin.call(OPERATIONS[operation]["method"], path, body)
            assert answer.status == 200, (operation, answer.body)
            assert problems(operation, answer.body) == [], operation
            assert problems_by_document(operation, answer.body) == [], operation
