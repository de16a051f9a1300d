"""The plan of a cluster: which processes, who knows which secret."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from resolute.deploy import checks, cluster, commands
from resolute.deploy.args import SERVICES, ClusterUp
from resolute.deploy.cluster import AgentPart, Cluster
from resolute.deploy.paths import ClusterPaths, make_private, write_private
from resolute.proto.errors import Refused
from resolute.scheduler.settings import SchedulerSettings

MASTER = """
resource_manager:
  type: agent
  scheduler: {type: priority, preemption: true}
  default_compute_resource_pool: gpu
  default_aux_resource_pool: cpu
resource_pools:
  - {pool_name: gpu, description: big ones, scheduler: {type: fair_share}}
  - {pool_name: cpu, agent_reconnect_wait: 1m}
"""

AGENTS = (AgentPart("agent-1", slots=2), AgentPart("agent-2"))
PORTS = {"services": 9000, "agent-1": 9001, "agent-2": 9002}
CLUSTER = Cluster("test", port=8080, nats_port=4222, metrics_ports=PORTS, storage="/somewhere", agents=AGENTS)


@pytest.fixture
def paths(tmp_path: Path) -> ClusterPaths:
    paths = ClusterPaths(tmp_path / "data")
    checks.data_directory(paths)
    return paths


def test_one_process_holds_all_services_unless_they_are_to_be_separate(paths: ClusterPaths) -> None:
    together = [child.name for child in cluster.children(paths, CLUSTER)]
    assert together == ["postgres", "nats", "services", "agent-1", "agent-2"]
    apart = [child.name for child in cluster.children(paths, Cluster("test", separate=True))]
    assert apart == ["postgres", "nats", *SERVICES]


def test_a_service_may_be_several_processes_and_gateways_then_share_their_port(paths: ClusterPaths) -> None:
    wanted, _ = commands._described(ClusterUp(agents=0, replicas={"searcher": 2, "api": 3}), paths, None)
    children = {child.name: child for child in cluster.children(paths, wanted)}
    assert [*children][2:] == [
        "relay",
        "directory",
        "searcher-1",
        "searcher-2",
        "tasks",
        "scheduler",
        "checkpoint",
        "api-1",
        "api-2",
        "api-3",
    ]
    assert {children[f"api-{n}"].env["RESOLUTE_API_REUSE_PORT"] for n in (1, 2, 3)} == {"true"}
    alone = cluster.service_environment(paths, Cluster("test", replicas={"searcher": 2}))
    assert alone["RESOLUTE_API_REUSE_PORT"] == "false"


def test_an_agent_is_told_its_own_seed_and_no_other_secret(paths: ClusterPaths) -> None:
    secret = cluster.cluster_secret(paths)
    agent = next(child for child in cluster.children(paths, CLUSTER) if child.name == "agent-1")
    told = json.dumps(agent.env)
    assert "agent-1.seed" in told
    assert not any(word in told for word in (secret, "service.seed", "agent-2.seed", "postgresql://", "DATABASE"))


def test_each_part_gets_the_settings_that_were_given_for_it(paths: ClusterPaths) -> None:
    told = {"RESOLUTE_OTLP_ENDPOINT": "http://c", "RESOLUTE_API_TLS_CERT": "/c.pem", "RESOLUTE_AGENT_GRACE_S": "3"}
    parts = {child.name: child.env for child in cluster.children(paths, replace(CLUSTER, given=told))}
    assert {name: parts["services"][name] for name in told} == told
    assert parts["agent-1"]["RESOLUTE_AGENT_GRACE_S"] == "3"
    assert "RESOLUTE_OTLP_ENDPOINT" not in parts["agent-1"]


def test_a_gateway_with_a_certificate_is_called_over_tls() -> None:
    assert replace(CLUSTER, given={"RESOLUTE_API_TLS_CERT": "/c.pem"}).url.startswith("https://127.0.0.1:")


def test_secrets_of_the_shell_reach_no_part_of_the_cluster(
    paths: ClusterPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "elsewhere")
    monkeypatch.setenv("DET_PASS", "hush")
    monkeypatch.setenv("HOME", "/home/me")
    for child in cluster.children(paths, CLUSTER):
        assert child.env["HOME"] == "/home/me"
        assert "hush" not in child.env.values()
        assert "elsewhere" not in child.env.values()


def test_the_gateway_knows_the_pools_that_the_scheduler_has(paths: ClusterPaths) -> None:
    told = cluster.service_environment(paths, Cluster("test", pools=("gpu", "cpu")))
    assert json.loads(told["RESOLUTE_API_POOLS"]) == json.loads(told["RESOLUTE_SCHEDULER_POOLS"]) == ["gpu", "cpu"]
    assert told["RESOLUTE_API_DEFAULT_POOL"] == "gpu"
    told = cluster.service_environment(paths, Cluster("test", pools=("gpu", "cpu"), default_pool="cpu"))
    assert told["RESOLUTE_API_DEFAULT_POOL"] == told["RESOLUTE_API_DEFAULT_AUX_POOL"] == "cpu"


def test_pools_come_from_the_master_configuration_with_all_it_says_of_them(paths: ClusterPaths, tmp_path: Path) -> None:
    master = tmp_path / "master.yaml"
    master.write_text(MASTER)
    wanted, _ = commands._described(ClusterUp(agents=1, master_config_path=master), paths, None)
    assert [agent.pool for agent in wanted.agents] == ["gpu"]
    cluster.save(paths, wanted)
    told = cluster.service_environment(paths, cluster.load(paths) or CLUSTER)
    assert (told["RESOLUTE_API_DEFAULT_POOL"], told["RESOLUTE_API_DEFAULT_AUX_POOL"]) == ("gpu", "cpu")
    assert told["RESOLUTE_API_POOLS"] == told["RESOLUTE_SCHEDULER_POOLS"]
    gpu, cpu = SchedulerSettings(pools=told["RESOLUTE_SCHEDULER_POOLS"]).pools  # type: ignore[arg-type]
    assert (gpu.description, gpu.scheduler.type if gpu.scheduler else "") == ("big ones", "fair_share")
    assert cpu.scheduler is not None
    assert (cpu.scheduler.type, cpu.scheduler.preemption, cpu.agent_reconnect_wait) == ("priority", True, 60.0)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:8080"),
        ("::", "http://[::1]:8080"),
        ("fd00::1", "http://[fd00::1]:8080"),
    ],
)
def test_a_cluster_is_at_an_address_where_it_listens(host: str, url: str) -> None:
    assert Cluster("test", host=host).url == url


def test_nats_is_told_public_keys_only(paths: ClusterPaths) -> None:
    config = cluster.nats_config(paths, CLUSTER)
    for file in paths.secrets.iterdir():
        assert file.read_text().strip() not in config
    assert config.count('"nkey"') == 3


def test_secrets_are_for_their_owner_only_and_stay_the_same(paths: ClusterPaths) -> None:
    secret = cluster.cluster_secret(paths)
    cluster.nats_config(paths, CLUSTER)
    assert cluster.cluster_secret(paths) == secret
    assert paths.secrets.stat().st_mode & 0o077 == 0
    assert {file.stat().st_mode & 0o777 for file in paths.secrets.iterdir()} == {0o600}


def test_a_cluster_is_remembered(paths: ClusterPaths) -> None:
    cluster.save(paths, CLUSTER)
    assert cluster.load(paths) == CLUSTER
    assert cluster.load(ClusterPaths(paths.root / "elsewhere")) is None


def test_a_directory_of_another_format_is_refused(paths: ClusterPaths) -> None:
    cluster.save(paths, CLUSTER)
    found = json.loads(paths.description.read_text())
    paths.description.write_text(json.dumps({**found, "format": 7, "news": True}))
    with pytest.raises(Refused, match="it has format 7, and this release uses 1; use the release that made it"):
        cluster.load(paths)


def test_agents_come_and_go() -> None:
    more = cluster.with_agent(CLUSTER, AgentPart("agent-3"))
    assert [agent.name for agent in more.agents] == ["agent-1", "agent-2", "agent-3"]
    assert cluster.without_agents(more, frozenset({"agent-1", "agent-3"})).agents == (AGENTS[1],)


def test_writing_privately_replaces_the_whole_file(tmp_path: Path) -> None:
    file = make_private(tmp_path / "run") / "plan.json"
    write_private(file, "long text")
    write_private(file, "short")
    assert file.read_text() == "short"
    assert [found.name for found in file.parent.iterdir()] == ["plan.json"]
