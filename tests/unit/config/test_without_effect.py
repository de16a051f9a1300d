"""What somebody wrote and nothing comes of is told by name."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.config import ClusterDefaults, parse_experiment
from resolute.config.without_effect import ANYWHERE, AS_PROCESSES, without_effect

PLAIN = {
    "entrypoint": "true",
    "searcher": {"name": "single", "metric": "loss"},
    "checkpoint_storage": {"type": "shared_fs", "host_path": "/shared"},
}

SAID: dict[str, Any] = {
    "environment": {
        "pod_spec": {"spec": {}},
        "proxy_ports": [{"proxy_port": 6006}, {"proxy_port": 6007, "unauthenticated": True}],
        "image": "python:3.11",
        "registry_auth": {"username": "me"},
        "force_pull_image": True,
        "add_capabilities": ["SYS_PTRACE"],
        "drop_capabilities": ["KILL"],
    },
    "slurm": {"slots_per_node": 2},
    "pbs": {"slots_per_node": 2},
    "integrations": {
        "pachyderm": {
            "pachd": {"host": "h", "port": 1},
            "proxy": {"scheme": "http", "host": "h", "port": 1},
            "dataset": {"project": "p", "repo": "r", "commit": "c", "branch": "b", "token": "t"},
        },
    },
    "optimizations": {
        "mixed_precision": "O1",
        "average_training_metrics": False,
        "grad_updates_size_file": "sizes",
        "tensor_fusion_threshold": 1,
        "tensor_fusion_cycle_time": 2,
        "auto_tune_tensor_fusion": True,
    },
    "profiling": {"begin_on_batch": 1, "end_after_batch": 2, "sync_timings": False},
    "debug": True,
    "bind_mounts": [{"host_path": "/a", "container_path": "b"}],
    "resources": {"devices": ["/dev/a:/dev/b"], "shm_size": "1G", "agent_label": "gpu"},
    "data_layer": {"type": "shared_fs"},
}

IGNORED = {"resources.agent_label", "data_layer"}


def paths(lines: list[str]) -> set[str]:
    return {line.partition(":")[0] for line in lines}


def test_each_setting_that_nothing_comes_of_is_told() -> None:
    parse_experiment({**PLAIN, **SAID}, ClusterDefaults())
    assert paths(without_effect(SAID, "process")) == {one.path for one in (*ANYWHERE, *AS_PROCESSES)} | IGNORED


@pytest.mark.parametrize("runtime", ["docker", ""])
def test_what_containers_have_is_told_only_where_it_is_known_that_there_are_none(runtime: str) -> None:
    assert paths(without_effect(SAID, runtime)) == {one.path for one in ANYWHERE} | IGNORED


def test_a_setting_that_asks_for_nothing_is_not_told() -> None:
    plain = {
        "environment": {
            "pod_spec": None,
            "proxy_ports": [{"proxy_port": 6006, "unauthenticated": False}],
            "force_pull_image": False,
        },
        "optimizations": {"mixed_precision": "O0", "aggregation_frequency": 4},
        "bind_mounts": [],
        "debug": False,
        "slurm": {},
    }
    parse_experiment({**PLAIN, **plain}, ClusterDefaults())
    assert without_effect(plain, "process") == []
    assert without_effect(parse_experiment(PLAIN, ClusterDefaults()).merged | {"environment": {}}, "process") == []
