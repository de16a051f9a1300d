"""What a master configuration says reaches the cluster, or the start is refused before anything has begun."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from resolute.api.settings import ApiSettings
from resolute.config.authz import Authz
from resolute.deploy import checks, cluster, commands, containers
from resolute.deploy.args import ClusterDown, ClusterUp
from resolute.deploy.checks import free_port
from resolute.deploy.cluster import AgentPart, Cluster
from resolute.deploy.paths import ClusterPaths
from resolute.proto.errors import InvalidConfig, Refused

CONTAINERS = """
task_container_defaults: {image: "python:3.11", network_mode: host, startup_hook: "export A=1"}
resource_pools:
  - {pool_name: default, task_container_defaults: {force_pull_image: true}}
  - {pool_name: apart, task_container_defaults: {network_mode: bridge}}
  - {pool_name: named, task_container_defaults: {network_mode: training}}
"""


@pytest.fixture
def paths(tmp_path: Path) -> ClusterPaths:
    paths = ClusterPaths(tmp_path / "data")
    checks.data_directory(paths)
    return paths


@pytest.fixture
def described(paths: ClusterPaths, tmp_path: Path) -> Callable[..., Cluster]:
    """The cluster that `cluster-up` would start with this master configuration."""

    def described(text: str, **wanted: object) -> Cluster:
        file = tmp_path / "master.yaml"
        file.write_text(text)
        asked = ClusterUp("test", master_config_path=file, **wanted)  # type: ignore[arg-type]
        return commands._described(asked, paths, None)[0]

    return described


def test_port_name_tls_and_levels_reach_the_services(paths: ClusterPaths, described: Callable[..., Cluster]) -> None:
    found = described(
        """
cluster_name: ours
launch_error: false
log: {level: warn}
security:
  tls: {cert: /c.pem, key: /k.pem}
  default_task: {user: train, uid: 1234, group: train, gid: 1234}
  authz: {rbac_ui_enabled: true, workspace_creator_assign_role: {role_id: 5}}
"""
    )
    told = cluster.service_environment(paths, found)
    assert found.url == "https://127.0.0.1:8443"
    assert (told["RESOLUTE_API_CLUSTER_NAME"], told["RESOLUTE_CLUSTER_NAME"]) == ("ours", "test")
    assert (told["RESOLUTE_API_TLS_CERT"], told["RESOLUTE_API_TLS_KEY"]) == ("/c.pem", "/k.pem")
    assert (told["RESOLUTE_LOG_LEVEL"], told["RESOLUTE_API_LAUNCH_ERROR"]) == ("warning", "false")
    assert json.loads(told["RESOLUTE_API_DEFAULT_TASK"])["uid"] == 1234
    authz = Authz.model_validate_json(told["RESOLUTE_API_AUTHZ"])
    assert (authz.shows_roles, authz.workspace_creator_assign_role.given) == (True, 5)


def test_what_the_command_and_the_environment_say_goes_before(
    described: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESOLUTE_LOG_LEVEL", "debug")
    found = described("{port: 9000, log: {level: error}}", master_port=9001)
    assert (found.port, found.given["RESOLUTE_LOG_LEVEL"]) == (9001, "debug")
    assert described("{port: 9000}").port == 9000


def test_a_database_that_is_there_already_takes_the_place_of_the_clusters_own(
    paths: ClusterPaths, described: Callable[..., Cluster]
) -> None:
    found = described("db: {user: me, password: 'p@ss/word', host: db.example, name: resolute, ssl_mode: require}")
    url = "postgresql://me:p%40ss%2Fword@db.example:5432/resolute?sslmode=require"
    assert "postgres" not in [child.name for child in cluster.children(paths, found)]
    told = cluster.service_environment(paths, found)
    assert told["RESOLUTE_DATABASE_URL"] == told["RESOLUTE_API_DATABASE_URL"] == url
    assert "word" not in repr(found)
    cluster.save(paths, found)
    assert commands.database_url("test", paths.root) == url


def test_agents_are_told_the_network_of_their_pool_and_services_are_not(
    paths: ClusterPaths, described: Callable[..., Cluster]
) -> None:
    found = described(CONTAINERS, runtime="docker")
    networks = {
        pool: cluster.agent_environment(paths, found, AgentPart("a", runtime="docker", pool=pool))
        for pool in ("default", "apart", "named")
    }
    assert {pool: told["RESOLUTE_AGENT_DOCKER_NETWORK"] for pool, told in networks.items()} == {
        "default": "host", "apart": containers.network_of(found.id), "named": "training",
    }  # fmt: skip
    told = cluster.service_environment(paths, found)
    assert "network_mode" not in "".join(told.values())


def test_a_pool_that_sets_one_default_keeps_the_others_of_the_cluster(
    paths: ClusterPaths, described: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = cluster.service_environment(paths, described(CONTAINERS, runtime="docker"))
    for name in ("RESOLUTE_API_POOLS", "RESOLUTE_API_TASK_CONTAINER_DEFAULTS"):
        monkeypatch.setenv(name, told[name])
    settings = ApiSettings(database_url="postgresql://")
    assert settings.container_defaults("default") == {
        "image": "python:3.11", "startup_hook": "export A=1", "force_pull_image": True,
    }  # fmt: skip


def test_what_only_containers_have_is_refused_for_processes_by_name(described: Callable[..., Cluster]) -> None:
    with pytest.raises(Refused) as refused:
        described(CONTAINERS)
    assert [line.partition(":")[0] for line in refused.value.message.splitlines()] == [
        "task_container_defaults.image",
        "resource_pools[0].task_container_defaults.force_pull_image",
        "resource_pools[2].task_container_defaults.network_mode",
    ]


def test_a_gateway_by_itself_refuses_what_only_agents_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_API_TASK_CONTAINER_DEFAULTS", '{"network_mode": "host"}')
    with pytest.raises(ValueError, match="RESOLUTE_AGENT_DOCKER_NETWORK"):
        ApiSettings(database_url="postgresql://")


def test_a_gateway_by_itself_refuses_a_storage_that_nothing_can_be_stored_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_API_CHECKPOINT_STORAGE", '{"type": "s3", "bucket": "b"}')
    with pytest.raises(InvalidConfig, match=r"checkpoint_storage\.type: s3 is not supported"):
        ApiSettings(database_url="postgresql://")


@pytest.mark.parametrize("text", ["- a list", "a text", "port: [", "\xff"])
def test_a_file_that_is_no_master_configuration_is_refused_by_name(
    described: Callable[..., Cluster], text: str
) -> None:
    with pytest.raises((Refused, InvalidConfig), match="master"):
        described(text)


def test_a_database_of_others_is_never_deleted_and_never_changed_for_another(tmp_path: Path) -> None:
    paths = ClusterPaths(tmp_path)
    cluster.save(paths, Cluster("test", database="postgresql://u:p@h:1/d"))
    with pytest.raises(Refused, match="names one that this cluster does not run"):
        commands.cluster_down(ClusterDown("test", tmp_path, delete_db=True))
    with pytest.raises(Refused, match="has to stay"):
        commands.cluster_up(ClusterUp("test", master_port=free_port(), data_dir=tmp_path))


def test_a_database_that_does_not_answer_is_named_without_its_password(tmp_path: Path) -> None:
    port = free_port()
    file = tmp_path / "master.yaml"
    file.write_text(f"db: {{user: me, password: secret, host: 127.0.0.1, port: {port}, name: d}}")
    with pytest.raises(Refused, match=f"cannot use the database at 127.0.0.1:{port}: ") as refused:
        commands.cluster_up(
            ClusterUp("test", master_port=free_port(), data_dir=tmp_path / "data", master_config_path=file)
        )
    assert "secret" not in refused.value.message
