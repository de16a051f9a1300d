"""The model registry on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

DIGITS = {
    "id": 1,
    "name": "digits",
    "description": "of people",
    "notes": "kept",
    "labels": ["vision"],
    "metadata": {"accuracy": 0.9, "by": "ann"},
    "workspaceId": 1,
    "userId": 2,
    "username": "determined",
    "archived": False,
    "numVersions": 2,
    "creationTime": "2026-01-02T03:04:05Z",
    "lastUpdatedTime": "2026-01-02T04:04:05Z",
}
UUID = "11111111-1111-4111-8111-111111111111"
TRAINING = {"trialId": 3, "experimentId": 7, "validationMetrics": {"avgMetrics": {"loss": 0.25}}}
VERSION = {
    "id": 5,
    "version": 2,
    "model": DIGITS,
    "checkpoint": {
        "uuid": UUID,
        "training": TRAINING,
        "metadata": {"steps_completed": 100},
        "state": "STATE_COMPLETED",
    },
    "metadata": {},
    "creationTime": "2026-01-02T03:04:05Z",
    "lastUpdatedTime": "2026-01-02T03:04:05Z",
}
PATH = "/api/v1/models/digits"

Det = Callable[..., Any]


@pytest.fixture
def registry(master: Any) -> Any:
    master.on("GET /api/v1/models", {"models": [DIGITS], "pagination": {"endIndex": 1, "total": 1}})
    master.on(f"GET {PATH}", {"model": DIGITS})
    master.on(f"PATCH {PATH}", lambda asked: {"model": {**DIGITS, **asked.body}})
    master.on(f"GET {PATH}/versions", {"modelVersions": [VERSION], "model": DIGITS})
    master.on(f"GET {PATH}/versions/2", {"modelVersion": VERSION})
    master.on(f"POST {PATH}/versions", {"modelVersion": VERSION})
    return master


def test_models_are_listed_as_a_table_and_as_json_in_snake_case(registry: Any, det: Det) -> None:
    lines = det("model list -w vision,first --sort-by name --order-by desc").out.splitlines()
    assert [cell.strip() for cell in lines[0].split("|")] == [
        *("ID", "Name", "Workspace ID", "Creation Time", "Last Updated Time", "Metadata"),
    ]
    assert lines[2].split("|")[1].strip() == "digits"
    query = registry.last("GET /api/v1/models").query
    assert {("workspaceNames", "vision"), ("workspaceNames", "first"), ("orderBy", "ORDER_BY_DESC")} <= set(query)
    [shown] = json.loads(det("m ls --json").out)
    assert (shown["workspace_id"], shown["num_versions"]) == (1, 2)
    assert shown["metadata"] == {"accuracy": 0.9, "by": "ann"}


def test_a_model_is_made(registry: Any, det: Det) -> None:
    registry.on("POST /api/v1/models", {"model": DIGITS})
    assert "digits" in det("model create digits --description d -w vision").out
    assert registry.last("POST /api/v1/models").body == {
        "name": "digits",
        "description": "d",
        "workspaceName": "vision",
    }


def test_a_model_is_described_with_its_latest_version_or_with_another(registry: Any, det: Det) -> None:
    out = det("model describe digits").out
    assert "of people" in out
    assert UUID in out
    assert ("limit", "1") in registry.last(f"GET {PATH}/versions").query
    assert "0.25" in det("model describe digits --version 2").out
    assert json.loads(det("model describe digits --json").out)["versions"][0]["version"] == 2


def test_a_name_with_anything_in_it_is_one_part_of_the_path(registry: Any, det: Det) -> None:
    registry.on("POST /api/v1/models/a?b %/archive", {})
    assert det("model archive", "a?b %").out == "Archived model 'a?b %'\n"
    assert "have no slash" in det("model delete digits/versions/2").err


def test_labels_and_metadata_are_shown_and_changed(registry: Any, det: Det) -> None:
    assert det("model labels digits").out == "vision\n"
    assert det("model labels digits --add new --remove vision").out == "new\n"
    assert registry.last(f"PATCH {PATH}").body == {"labels": ["new"]}
    assert json.loads(det("model metadata digits --set accuracy=0.95 --set tags=[a] --remove by").out) == {
        "accuracy": 0.95,
        "tags": ["a"],
    }
    assert "expected KEY=VALUE" in det("model metadata digits --set accuracy").err
    assert det("model notes digits").out == "kept\n"
    assert det("model notes digits --set better").out == "better\n"


def test_a_model_is_edited_moved_and_deleted(registry: Any, det: Det) -> None:
    assert "Changed name" in det("model edit digits --name numbers").out
    assert "nothing to change" in det("model edit digits").err
    assert det("model move digits -w vision").out == ""
    assert registry.last(f"PATCH {PATH}").body == {"workspaceName": "vision"}
    registry.on(f"DELETE {PATH}", {})
    assert det("model delete digits").out == ""


def test_a_checkpoint_is_registered_and_versions_are_shown_and_deleted(registry: Any, det: Det) -> None:
    assert UUID in det(f"model register-version digits {UUID}").out
    assert registry.last(f"POST {PATH}/versions").body == {"modelName": "digits", "checkpointUuid": UUID}
    assert "100" in det("model list-versions digits").out
    shown = json.loads(det("model describe-version digits 2 --json").out)
    assert shown["model"]["workspace_id"] == 1
    assert "say --yes" in det("model delete-version digits 2").err
    registry.on(f"DELETE {PATH}/versions/2", {})
    assert det("model delete-version digits 2 --yes").out == "Deleted version 2 of model 'digits'\n"
