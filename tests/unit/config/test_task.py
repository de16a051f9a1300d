"""The configuration of a task that is no trial: what is refused, and which layer wins."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.config import TaskConfig, TaskDefaults, parse_task, pool_of
from resolute.proto.errors import InvalidConfig


def parsed(
    config: dict[str, Any],
    *,
    files: bool = False,
    template: Any = None,
    container: Any = None,
    runs: bool = True,
    idle: bool = False,
) -> TaskConfig:
    defaults = TaskDefaults("three-words", "compute", "aux", template or {}, container or {})
    return parse_task(
        {"entrypoint": ["true"], **config}, defaults, has_files=files, runs_entrypoint=runs, may_be_idle=idle
    )


def test_what_is_left_open_gets_a_default() -> None:
    config = parsed({})
    assert (config.description, config.entrypoint) == ("three-words", ("true",))
    assert (config.pool, config.slots, config.priority, config.weight) == ("compute", 1, None, 1.0)


def test_work_without_slots_goes_to_the_pool_for_such_work_unless_a_pool_is_named() -> None:
    assert parsed({"resources": {"slots": 0}}).pool == "aux"
    assert parsed({"resources": {"slots": 0, "resource_pool": "gpus"}}).pool == "gpus"
    assert pool_of({"resources": {"slots": 0}}, "compute", "aux") == "aux"
    assert pool_of({"resources": "wrong"}, "compute", "aux") == "compute"


def test_slots_and_pool_are_taken_from_what_was_submitted_alone_and_the_rest_from_the_template_too() -> None:
    template = {"resources": {"slots": 4, "resource_pool": "gpus", "priority": 7}, "description": "of the template"}
    config = parsed({}, template=template)
    assert (config.slots, config.pool, config.priority, config.description) == (1, "compute", 7, "of the template")
    assert parsed({"description": "own"}, template=template).description == "own"


def test_a_template_wins_over_the_defaults_of_the_cluster_and_variables_add_up() -> None:
    container = {"image": "cluster", "environment_variables": ["A=1"], "bind_mounts": []}
    template = {"environment": {"image": "template", "environment_variables": ["B=2"]}}
    environment = parsed({}, template=template, container=container).merged["environment"]
    assert environment["image"]["cpu"] == "template"
    assert environment["environment_variables"]["cpu"] == ["A=1", "B=2"]


def test_a_working_directory_is_not_together_with_files_unless_it_comes_from_below() -> None:
    with pytest.raises(InvalidConfig, match=r"^work_dir: "):
        parsed({"work_dir": "/data"}, files=True)
    assert parsed({"work_dir": "/data"}).merged["work_dir"] == "/data"
    assert parsed({}, template={"work_dir": "/data"}).merged["work_dir"] == "/data"
    assert parsed({}, template={"work_dir": "/data"}, files=True).merged["work_dir"] is None


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"entrypoint": []}, r"^entrypoint: missing"),
        ({"entrypoint": "echo"}, r"^entrypoint: expected a list"),
        ({"slots": 1}, r"^slots: unknown field"),
        ({"resources": {"slots_per_trial": 1}}, r"^resources\.slots_per_trial: .*resources\.slots"),
        ({"resources": {"slots": -1}}, r"^resources\.slots: "),
        ({"searcher": {}}, r"^searcher: unknown field"),
        ({"entrypoint": ["x" * 2_000_000]}, r"^entrypoint"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(config: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidConfig, match=said):
        parsed(config)


def test_a_task_whose_kind_says_what_runs_ignores_an_entrypoint() -> None:
    assert parsed({}, runs=False).merged["entrypoint"] == []
    assert parsed({"entrypoint": []}, runs=False).entrypoint == ()


def test_for_how_long_a_task_that_serves_people_may_be_idle_is_read_as_a_duration() -> None:
    assert parsed({"idle_timeout": "1h30m"}, runs=False, idle=True).idle_timeout_s == 5400
    assert parsed({}, runs=False, idle=True).idle_timeout_s is None
    with pytest.raises(InvalidConfig, match=r"^idle_timeout: expected at least 10s; found '5s'"):
        parsed({"idle_timeout": "5s"}, runs=False, idle=True)
    with pytest.raises(InvalidConfig, match=r"^idle_timeout: expected a duration such as"):
        parsed({"idle_timeout": "soon"}, runs=False, idle=True)
    with pytest.raises(InvalidConfig, match=r"^idle_timeout: .*never ended"):
        parsed({"idle_timeout": "30m"}, runs=False)
    with pytest.raises(InvalidConfig, match=r"^notebook_idle_type: expected one of"):
        parsed({"notebook_idle_type": "moon"}, runs=False, idle=True)
