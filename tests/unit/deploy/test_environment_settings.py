"""Settings that whoever starts an embedded cluster gives as variables."""

from __future__ import annotations

import pytest

from resolute.deploy import environment_settings
from resolute.proto.errors import InvalidConfig, Refused

TLS = {"RESOLUTE_API_TLS_CERT": "/c.pem", "RESOLUTE_API_TLS_KEY": "/k.pem"}
EVERY_KIND = {
    **TLS,
    "RESOLUTE_OTLP_ENDPOINT": "http://collector:4318/v1/traces",
    "RESOLUTE_API_SESSION_LIFETIME_DAYS": "30",
    "RESOLUTE_SCHEDULER_AGENT_RECONNECT_WAIT_S": "60",
    "RESOLUTE_AGENT_WARM_START": "false",
    "RESOLUTE_AGENT_TASK_VARIABLES": '["AWS_*"]',
}


def test_settings_of_every_service_and_of_agents_are_taken() -> None:
    assert environment_settings.settings({**EVERY_KIND, "PATH": "/bin"}) == EVERY_KIND


def test_agents_get_theirs_alone() -> None:
    assert set(environment_settings.of_agents(EVERY_KIND)) == {
        "RESOLUTE_AGENT_WARM_START",
        "RESOLUTE_AGENT_TASK_VARIABLES",
    }


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("RESOLUTE_API_TLS_CERTIFICATE", "there is no such setting; did you mean RESOLUTE_API_TLS_CERT"),
        ("RESOLUTE_DATABASE_URL", "an embedded cluster makes its own"),
        ("RESOLUTE_API_PORT", "--master-port"),
        ("RESOLUTE_API_POOLS", "--master-config-path"),
        ("RESOLUTE_CONFIG", "reads no such file"),
        ("RESOLUTE_COMPOSE_AGENTS", "a cluster in containers"),
    ],
)
def test_what_could_have_no_effect_is_refused_by_name(name: str, says: str) -> None:
    with pytest.raises(Refused) as refused:
        environment_settings.settings({name: "7"})
    assert name in refused.value.message
    assert says in refused.value.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RESOLUTE_API_SESSION_LIFETIME_DAYS", "long"),
        ("RESOLUTE_SCHEDULER_TICK_S", "0"),
        ("RESOLUTE_AGENT_WARM_IMPORTS", "torch"),
        ("RESOLUTE_LOG_LEVEL", "loud"),
    ],
)
def test_a_value_of_another_type_or_range_is_refused_before_anything_starts(name: str, value: str) -> None:
    with pytest.raises(InvalidConfig, match=name):
        environment_settings.settings({name: value})


def test_what_tests_are_told_is_left_alone() -> None:
    assert environment_settings.settings({"RESOLUTE_REQUIRE": "docker", "RESOLUTE_INTEROP_VENV": "/v"}) == {}


def test_processes_inherit_what_tasks_may_and_the_way_to_docker_and_to_traces() -> None:
    shell = {
        "PATH": "/bin",
        "AWS_SECRET_ACCESS_KEY": "a",
        "DOCKER_HOST": "tcp://d",
        "OTEL_SERVICE_NAME": "r",
        "WANDB_MODE": "w",
    }
    named = {"RESOLUTE_AGENT_TASK_VARIABLES": '["WANDB_*"]'}
    assert set(environment_settings.passed_on(shell, named)) == {
        "PATH",
        "DOCKER_HOST",
        "OTEL_SERVICE_NAME",
        "WANDB_MODE",
    }
