"""What Prometheus reads of a gateway: the cluster's state, the processes there are, and only with a token."""

from __future__ import annotations

import json
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from resolute.service import metrics_token
from tests.integration.api import a_search
from tests.integration.api.running import Client, running

STATE, DISCOVERY = "/prom/det-state-metrics", "/prom/det-http-sd-config"


async def series(client: Client) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Labels and values by the name of the series; the page is parsed as Prometheus does it."""
    answer = await client.call("GET", STATE)
    assert (answer.status, answer.headers["Content-Type"].split(";")[0]) == (200, "text/plain")
    families = text_string_to_metric_families(answer.body.decode())
    return {one.name: [(sample.labels, sample.value) for sample in one.samples] for one in families}


async def test_the_state_of_a_search_is_told_in_determineds_series(postgres_dsn: str, tmp_path: Path) -> None:
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        await cluster.log.set_aside("searcher", 2, "KeyError()")
        found = await series(await cluster.nobody.login("determined"))
    task = {"allocation_id": "alloc-2", "task_id": "task-2", "task_actor": "Trial 2", "job_id": "job-1"}
    assert (task, 1.0) in found["det_allocation_id_task_id_task_actor"]
    assert ({**task, "allocation_id": "alloc-1", "task_id": "task-1", "task_actor": "Trial 1"}, 0.0) in found[
        "det_allocation_id_task_id_task_actor"
    ], "it has ended"
    containers = found["det_container_id_allocation_id"]
    assert ({"container_id": "resources-2", "allocation_id": "alloc-2"}, 1.0) in containers
    assert ({"container_id": "resources-1", "allocation_id": "alloc-1"}, 0.0) in containers
    assert found["det_job_id_experiment_id"] == [({"job_id": "job-1", "experiment_id": "1"}, 1.0)]
    assert found["resolute_experiments"] == [({"state": "ACTIVE"}, 1.0)]
    used = {name: found[f"resolute_pool_{name}"][0][1] for name in ("agents", "slots", "slots_used")}
    assert used == {"agents": 1.0, "slots": 2.0, "slots_used": 1.0}
    assert found["resolute_log_position"] == found["resolute_shown_position"]
    assert found["resolute_events_aside"] == [({"consumer": "searcher"}, 1.0)]


async def test_the_metrics_token_reads_metrics_and_nothing_else(postgres_dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(token := metrics_token.new())
    async with running(postgres_dsn, metrics_token_file=file) as cluster:
        prometheus = Client(cluster.nobody.base, cluster.nobody.http, token)
        for path in (STATE, DISCOVERY, "/debug/prom/metrics"):
            assert (await prometheus.call("GET", path)).status == 200
            assert (await cluster.nobody.call("GET", path)).status == 401
        for path in ("/api/v1/me", "/api/v1/experiments", "/api/v1/master/config", "/api/v1/agents"):
            assert (await prometheus.call("GET", path)).status == 403, path
        guessed = Client(cluster.nobody.base, cluster.nobody.http, metrics_token.new())
        assert (await guessed.call("GET", STATE)).status == 401


async def test_where_no_token_is_set_none_opens_anything(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        for token in ("metrics-", metrics_token.new()):
            prometheus = Client(cluster.nobody.base, cluster.nobody.http, token)
            assert (await prometheus.call("GET", STATE)).status == 401


async def test_discovery_lists_every_process_and_what_determined_expects_on_agents(
    postgres_dsn: str, tmp_path: Path
) -> None:
    file = tmp_path / "targets.json"
    listed = [
        {"process": "searcher-1", "address": "127.0.0.1:9101"},
        {"process": "api", "address": "localhost:9102", "each_address": True},
        {"process": "gone", "address": "no-such-name.invalid:9103", "each_address": True},
    ]
    file.write_text(json.dumps(listed))
    async with running(postgres_dsn, metrics_targets_file=file) as cluster:
        await a_search.tell(cluster, tmp_path)
        someone = await cluster.nobody.login("determined")
        first, second, agent = await someone.get(DISCOVERY)
        assert first == {"targets": ["127.0.0.1:9101"], "labels": {"resolute_process": "searcher-1"}}
        assert "127.0.0.1:9102" in second["targets"]
        assert agent == {
            "targets": ["host-a:9400", "host-a:8080"],
            "labels": {"det_agent_id": "agent-a", "det_resource_pool": "default"},
        }
        file.write_text(json.dumps([{"process": "late", "address": "127.0.0.1:9104"}]))
        assert (await someone.get(DISCOVERY))[0]["labels"] == {"resolute_process": "late"}, "the file is read each time"
        file.write_text("[{}]")
        answer = await someone.call("GET", DISCOVERY)
        assert (answer.status, "metrics_targets_file" in answer.body["message"]) == (503, True)


async def test_exporters_that_are_not_there_need_not_be_listed(postgres_dsn: str, tmp_path: Path) -> None:
    async with running(postgres_dsn, agent_exporter_ports=()) as cluster:
        await a_search.tell(cluster, tmp_path)
        assert await (await cluster.nobody.login("determined")).get(DISCOVERY) == []
