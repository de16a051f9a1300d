"""Searching runs and acting on many of them, over REST: what clients send, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.api.running import Client, running
from tests.integration.api.test_experiments import CONFIG, TRAIN


@pytest.fixture
async def client(postgres_dsn: str) -> AsyncIterator[Client]:
    async with running(postgres_dsn, services=True) as cluster:
        yield await cluster.nobody.login("determined")


async def submit(client: Client, activate: bool = True) -> int:
    body = {"config": CONFIG, "modelDefinition": TRAIN, "activate": activate}
    made: int = (await client.post("/api/v1/experiments", body))["experiment"]["id"]
    return made


async def runs(client: Client, **asked: Any) -> list[int]:
    return [run["id"] for run in (await client.post("/api/v1/runs", asked))["runs"]]


def only(column: str, operator: str, value: Any) -> str:
    field = {"kind": "field", "columnName": column, "operator": operator, "value": value}
    return json.dumps({"filterGroup": {"kind": "group", "conjunction": "and", "children": [field]}})


async def results(client: Client, verb: str, **asked: Any) -> dict[int, str]:
    answer = await client.post(f"/api/v1/runs/{verb}", asked)
    return {one["id"]: one["error"] for one in answer["results"]}


async def test_runs_are_found_by_filters_and_a_wrong_filter_names_its_field(client: Client) -> None:
    first, second = await submit(client), await submit(client, activate=False)
    found = await client.post("/api/v1/runs", {"filter": only("experimentId", "=", first), "limit": 10})
    assert [(run["experiment"]["id"], run["state"]) for run in found["runs"]] == [(first, "STATE_QUEUED")]
    assert found["pagination"]["total"] == 1
    searches = await client.post("/api/v1/experiments-search", {"filter": only("id", "!=", first), "sort": "id=asc"})
    assert [one["experiment"]["id"] for one in searches["experiments"]] == [second]
    wrong = await client.call("POST", "/api/v1/runs", {"filter": only("speed", "=", 1)})
    assert (wrong.status, "children[0].columnName: invalid run column 'speed'" in str(wrong.body)) == (400, True)
    unsorted = await client.call("POST", "/api/v1/runs", {"sort": "tags=asc"})
    assert (unsorted.status, "invalid sort col: tags" in str(unsorted.body)) == (400, True)
    of_searches = await client.call("POST", "/api/v1/experiments-search", {"filter": only("metadata.a", "=", 1)})
    assert (of_searches.status, "metadata.a: experiments have no metadata" in str(of_searches.body)) == (400, True)


async def test_the_columns_of_a_project_name_its_hyperparameters(client: Client) -> None:
    await submit(client)
    for table, location in (("RUN", "RUN_HYPERPARAMETERS"), ("EXPERIMENT", "HYPERPARAMETERS")):
        columns = (await client.get(f"/api/v1/projects/1/columns?tableType=TABLE_TYPE_{table}"))["columns"]
        locations = {one["column"]: one["location"] for one in columns}
        assert locations["id"] == f"LOCATION_TYPE_{table}"
        assert f"LOCATION_TYPE_{location}" in set(locations.values())
    assert (await client.get("/api/v1/projects/1/experiments/metric-ranges"))["ranges"] == []
    assert (await client.get("/api/v1/projects/1/metadata/note"))["values"] == []


async def test_many_runs_are_paused_resumed_killed_and_moved_and_each_has_an_answer(client: Client) -> None:
    experiment = await submit(client)
    [run] = await runs(client, filter=only("experimentId", "=", experiment))
    named = {"projectId": 1, "runIds": [run, 999]}
    missing = "Run with id '999' not found in project with id '1'"
    assert await results(client, "pause", **named) == {run: "", 999: missing}
    assert (await client.get(f"/api/v1/experiments/{experiment}"))["experiment"]["state"] == "STATE_PAUSED"
    assert await results(client, "resume", **named) == {run: "", 999: missing}
    made = await client.post("/api/v1/workspaces", {"name": "vision"})
    path = f"/api/v1/workspaces/{made['workspace']['id']}/projects"
    project = (await client.post(path, {"name": "digits"}))["project"]["id"]
    move = {"sourceProjectId": 1, "destinationProjectId": project, "runIds": [run]}
    assert await results(client, "move", **move) == {run: ""}
    assert await runs(client, projectId=project) == [run]
    assert await results(client, "kill", filter=only("experimentId", "=", experiment), runIds=[]) == {run: ""}
    assert await results(client, "kill", runIds=[run, 999]) == {run: "", 999: "Run with id '999' not found"}
    everything = await client.call("POST", "/api/v1/runs/kill", {"filter": "", "runIds": []})
    assert (everything.status, everything.error.partition(":")[0]) == (400, "filter")
    refused = await client.call("POST", "/api/v1/runs/kill", {"filter": "{}", "runIds": [run]})
    assert refused.status == 400


async def test_a_run_of_a_search_with_several_is_not_paused_alone_and_is_moved_with_the_others(
    client: Client,
) -> None:
    searcher = "searcher: {name: random, metric: loss, max_trials: 2, max_length: {batches: 10}}"
    config = "\n".join(
        line if not line.strip().startswith("searcher") else searcher for line in str(CONFIG).splitlines()
    )
    body = {"config": config, "modelDefinition": TRAIN, "activate": True}
    experiment = (await client.post("/api/v1/experiments", body))["experiment"]["id"]
    both = await runs(client, filter=only("experimentId", "=", experiment), sort="id=asc")
    assert len(both) == 2
    alone = {one: f"Cannot pause/unpause run '{one}' (part of multi-trial)." for one in both}
    assert await results(client, "pause", projectId=1, runIds=both) == alone
    skipped = {one: f"Skipping run '{one}' (part of multi-trial)." for one in both}
    move = {"sourceProjectId": 1, "destinationProjectId": 1, "runIds": both}
    assert await results(client, "move", **move, skipMultitrial=True) == skipped
    assert await results(client, "move", **move) == dict.fromkeys(both, "")
    await client.post(f"/api/v1/experiments/{experiment}/kill")
    await client.post(f"/api/v1/experiments/{experiment}/archive")
    assert await results(client, "move", **move) == dict.fromkeys(both, "Run is archived.")


async def test_a_run_that_has_ended_is_archived_by_itself_and_lists_leave_it_out(client: Client) -> None:
    experiment = await submit(client)
    of_it = only("experimentId", "=", experiment)
    [run] = await runs(client, filter=of_it)
    named = {"projectId": 1, "runIds": [run, 999]}
    missing = "Run with id '999' not found in project with id '1'"
    for verb in ("archive", "unarchive"):
        assert await results(client, verb, **named) == {run: "Run is not in terminal state.", 999: missing}
    await client.post(f"/api/v1/experiments/{experiment}/kill")
    assert await results(client, "archive", **named) == {run: "", 999: missing}
    assert (await client.get(f"/api/v1/experiments/{experiment}"))["experiment"]["archived"] is False
    assert await runs(client, filter=of_it) == []
    [shown] = (await client.post("/api/v1/runs", {"filter": json.dumps({**json.loads(of_it), "showArchived": True})}))[
        "runs"
    ]
    assert (shown["id"], shown["archived"], shown["parentArchived"]) == (run, True, False)
    assert await results(client, "archive", projectId=1, runIds=[], filter=of_it) == {}
    assert await results(client, "unarchive", projectId=1, runIds=[], filter=of_it) == {run: ""}
    assert await runs(client, filter=of_it) == [run]


async def test_a_run_is_not_put_back_without_its_archived_search(client: Client) -> None:
    experiment = await submit(client)
    [run] = await runs(client, filter=only("experimentId", "=", experiment))
    await client.post(f"/api/v1/experiments/{experiment}/kill")
    await client.post(f"/api/v1/experiments/{experiment}/archive")
    refused = f"Run is part of archived Search (id: '{experiment}')."
    for verb in ("archive", "unarchive"):
        assert await results(client, verb, projectId=1, runIds=[run]) == {run: refused}
    [shown] = [one for one in (await client.post("/api/v1/runs", {}))["runs"] if one["id"] == run]
    assert (shown["archived"], shown["parentArchived"]) == (True, True)
