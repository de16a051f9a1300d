"""The public client's workspaces and projects, and the same words of ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.interop.conftest import MODEL, PublicClient


@pytest.fixture(params=["public", "ours"])
def client(request: pytest.FixtureRequest, public: PublicClient) -> PublicClient:
    """Each story is told by the unmodified client, and by the one of this release."""
    if request.param == "public":
        return public
    return PublicClient(Path(sys.executable).parents[1], public.master, public.home)


def test_it_keeps_workspaces_and_projects(client: PublicClient, request: pytest.FixtureRequest) -> None:
    name = f"interop {request.node.callspec.params['client']}"
    assert name in client.det("workspace", "create", name)
    assert name in client.det("workspace", "list", "--sort-by", "name", "--order-by", "desc")
    assert "default" in client.det("workspace", "list-pools", name)
    made = json.loads(client.det("project", "create", name, "digits", "--description", "of people", "--json"))
    assert (made["name"], made["description"]) == ("digits", "of people")
    assert "digits" in client.det("workspace", "list-projects", name)
    assert "digits" in client.det("project", "list", name)
    assert made["key"] in client.det("project", "describe", name, "digits")
    client.det("project", "edit", name, "digits", "--new_name", "numbers")
    experiment = ("experiment", "create", str(MODEL / "short.yaml"), str(MODEL), "--paused")
    out = client.det(*experiment, "--project_id", str(made["id"]))
    number = out.split("Created experiment ")[1].split()[0]
    assert number in client.det("project", "list-experiments", name, "numbers")
    client.det("experiment", "kill", number)

    assert "Successfully archived project numbers" in client.det("project", "archive", name, "numbers")
    assert "Successfully un-archived project numbers" in client.det("project", "unarchive", name, "numbers")
    assert f"Successfully archived workspace {name}" in client.det("workspace", "archive", name)
    assert f"Successfully un-archived workspace {name}" in client.det("workspace", "unarchive", name)
    renamed = f"{name} renamed"
    assert renamed in client.det("workspace", "edit", name, "--name", renamed)
    assert renamed in client.det("workspace", "describe", renamed)
    client.det("project", "create", renamed, "empty")
    assert "Successfully deleted project empty" in client.det("project", "delete", renamed, "empty", "--yes")
    assert "Started deletion of workspace" in client.det("workspace", "delete", renamed, "--yes")
    assert renamed not in client.det("workspace", "list")
    unknown = client.run("workspace", "describe", renamed)
    assert unknown.returncode == 1


VISITS = """
from determined.common.api import bindings as b

session = client._determined._session
seen = b.v1PostUserActivityRequest(
    activityType=b.v1ActivityType.GET, entityType=b.v1EntityType.PROJECT, entityId=1
)
for _ in range(3):
    b.post_PostUserActivity(session, body=seen)
print([one.name for one in b.get_GetProjectsByUserActivity(session, limit=5).projects])
"""


def test_its_bindings_report_visits_and_decode_the_projects_that_were_visited(public: PublicClient) -> None:
    assert public.python(VISITS).strip() == "['Uncategorized']"
