"""The cluster's own settings."""

from __future__ import annotations

import pytest

from resolute.config import parse_experiment
from resolute.config.durations import seconds
from resolute.config.master import parse_master
from resolute.proto.errors import InvalidConfig


def test_an_empty_file_is_a_working_cluster() -> None:
    config = parse_master({})
    assert (config.port, config.resource_pools[0].pool_name, config.resource_pools[0].agent_reconnect_wait) == (
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
