"""The cluster's own settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from resolute.config import parse_experiment
from resolute.config.durations import seconds
from resolute.config.master import parse_master
from resolute.config.unsupported import UNSUPPORTED
from resolute.proto.errors import InvalidConfig


def test_an_empty_file_is_a_working_cluster() -> None:
    config = parse_master({})
    assert (config.listens_at, config.resource_pools[0].pool_name, config.resource_pools[0].agent_reconnect_wait) == (
        8080, "default", 25.0,
    )  # fmt: skip
    assert config.scheduler_of("default").type == "priority"


def test_a_pool_has_its_own_scheduler_and_task_defaults() -> None:
    config = parse_master(
        {
            "checkpoint_storage": {"type": "shared_fs", "host_path": "/shared"},
            "task_container_defaults": {
                "preemption_timeout": 90,
                "force_pull_image": True,
                "dtrain_network_interface": "ib0",
            },
            "resource_pools": [
                {"pool_name": "default"},
                {
                    "pool_name": "fast",
                    "agent_reconnect_wait": "1m30s",
                    "scheduler": {"type": "fair_share", "default_priority": 7},
                    "task_container_defaults": {"preemption_timeout": 30},
                },
            ],
        }
    )
    assert config.resource_pools[1].agent_reconnect_wait == 90
    assert config.scheduler_of("fast").type == "fair_share"
    defaults = config.defaults(created_at_s=5, pool_name="fast")
    experiment = parse_experiment({"entrypoint": "true", "searcher": {"name": "single", "metric": "m"}}, defaults)
    assert (experiment.preemption_timeout_s, experiment.resources.priority) == (30, 7)
    assert experiment.environment["force_pull_image"] is True
    assert experiment.environment["dtrain_network_interface"] == "ib0"


def test_every_problem_is_told_with_its_path_and_no_secret() -> None:
    with pytest.raises(InvalidConfig) as refused:
        parse_master(
            {
                "prt": 1,
                "port": "x",
                "db": {"passwd": "s", "password": 4321},
                "resource_pools": [{"agent_reconnect_wait": "5x", "scheduler": {"type": "round_robin"}}],
                "checkpoint_storage": {"type": "s3"},
                "task_container_defaults": {"registry_auth": {"auth": 4321}},
            }
        )
    lines = refused.value.message.splitlines()
    assert "checkpoint_storage.bucket: missing. Storage of type s3 needs it." in lines
    assert "prt: unknown field. Did you mean 'port'?" in lines
    assert "db.passwd: unknown field. Did you mean 'password'?" in lines
    types = "'priority', 'fair_share' or 'fifo'"
    assert f"resource_pools[0].scheduler.type: should be {types}; found 'round_robin'." in lines
    assert any(line.startswith("resource_pools[0].agent_reconnect_wait: expected a duration") for line in lines)
    assert "4321" not in refused.value.message


def test_the_default_pools_must_exist_once() -> None:
    with pytest.raises(InvalidConfig, match=r"default_aux_resource_pool: expected one of the pools \(default\)"):
        parse_master({"resource_manager": {"default_aux_resource_pool": "aux"}})
    with pytest.raises(InvalidConfig, match="expected each pool_name once"):
        parse_master({"resource_pools": [{}, {}]})


@pytest.mark.parametrize(("text", "span_s"), [("30s", 30), ("1h30m", 5400), ("250ms", 0.25), ("0", 0), ("1.5m", 90)])
def test_durations_are_written_as_go_writes_them(text: str, span_s: float) -> None:
    assert seconds(text) == pytest.approx(span_s)


@pytest.mark.parametrize("text", ["", "5", "5x", "s", "1m 30s", "-5s"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="such as 30s"):
        seconds(text)


# ---------------------------------------------------------------- what is not supported


def said(path: str, value: Any) -> dict[str, Any]:
    """A master configuration that says this alone; `[]` in the path is a list of one item."""
    name, _, rest = path.partition(".")
    inner = said(rest, value) if rest else value
    return {name.removesuffix("[]"): [inner]} if name.endswith("[]") else {name: inner}


def harmless() -> Iterator[tuple[str, Any]]:
    for path, entry in UNSUPPORTED.items():
        yield from ((path, value) for value in entry.harmless)


@pytest.mark.parametrize("path", UNSUPPORTED)
def test_a_key_that_is_not_supported_is_refused_by_name_with_what_to_do(path: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        parse_master(said(path, "something"))
    assert f"{path.replace('[]', '[0]')}: {UNSUPPORTED[path].why}" in refused.value.message.splitlines()


@pytest.mark.parametrize(("path", "value"), list(harmless()))
def test_a_key_that_asks_for_what_the_cluster_does_anyway_is_let_in(path: str, value: Any) -> None:
    parse_master(said(path, value))


def test_a_section_that_is_switched_off_is_let_in_and_what_else_it_says_is_not() -> None:
    parse_master({"saml": {"enabled": False}, "oidc": {}, "scim": None})
    with pytest.raises(InvalidConfig, match="saml: is not supported"):
        parse_master({"saml": {"enabled": False, "provider": "okta"}})


def test_a_pools_own_task_defaults_know_the_same_keys_as_the_clusters() -> None:
    with pytest.raises(InvalidConfig, match=r"resource_pools\[0\]\.task_container_defaults\.gpu_pod_spec: is for pods"):
        parse_master({"resource_pools": [{"task_container_defaults": {"gpu_pod_spec": {"spec": {}}}}]})


def test_former_names_work_unless_todays_are_there_too() -> None:
    config = parse_master(
        {
            "resource_manager": {"default_gpu_resource_pool": "a", "default_cpu_resource_pool": "b"},
            "resource_pools": [{"pool_name": "a", "max_cpu_containers_per_agent": 3}, {"pool_name": "b"}],
        }
    )
    manager = config.resource_manager
    assert (manager.default_compute_resource_pool, manager.default_aux_resource_pool) == ("a", "b")
    assert config.resource_pools[0].max_aux_containers_per_agent == 3
    with pytest.raises(InvalidConfig, match="is the former name of max_aux_containers_per_agent, which is there too"):
        parse_master({"resource_pools": [{"max_cpu_containers_per_agent": 3, "max_aux_containers_per_agent": 4}]})


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"resource_manager": {"type": "kubernetes"}}, "resource_manager.type: kubernetes is not supported"),
        ({"checkpoint_storage": {"type": "gcs", "bucket": "b"}}, "checkpoint_storage.type: gcs is not supported"),
        ({"log": {"level": "trace"}}, "log.level: trace is not supported; write debug, info, warn or error"),
        ({"db": {"host": "h"}}, "db: user, name missing; a cluster without `db` runs a PostgreSQL of its own"),
        ({"security": {"tls": {"cert": "c.pem"}}}, "security.tls: cert and key go together"),
    ],
)
def test_what_is_not_built_is_refused_at_start(given: dict[str, Any], line: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        parse_master(given)
    assert any(found.startswith(line) for found in refused.value.message.splitlines()), refused.value.message


def test_the_port_follows_from_tls_where_it_is_left_open() -> None:
    tls = {"security": {"tls": {"cert": "c.pem", "key": "k.pem"}}}
    assert [parse_master(each).listens_at for each in ({"port": 0}, tls, {"port": 9000, **tls})] == [8080, 8443, 9000]


def test_the_clusters_startup_hook_is_part_of_every_experiment() -> None:
    config = parse_master({"task_container_defaults": {"startup_hook": "export A=1"}})
    asked = {
        "entrypoint": "true",
        "searcher": {"name": "single", "metric": "m"},
        "checkpoint_storage": {"type": "shared_fs", "host_path": "/shared"},
    }
    hooked = parse_experiment(asked, config.defaults(created_at_s=5))
    assert hooked.environment["startup_hook"] == "export A=1"
    assert "startup_hook" not in parse_experiment(asked, parse_master({}).defaults(created_at_s=5)).environment
