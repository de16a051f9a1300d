"""What the gateway is told when it starts, and what it does not take."""

from __future__ import annotations

import pytest

from resolute.api.settings import ApiSettings, load
from resolute.proto.errors import InvalidConfig


def test_a_default_pool_that_is_no_pool_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_DATABASE_URL", "postgresql://nowhere")
    monkeypatch.setenv("RESOLUTE_API_POOLS", '["gpu", "cpu"]')
    monkeypatch.setenv("RESOLUTE_API_DEFAULT_POOL", "default")
    with pytest.raises(InvalidConfig, match=r"api.default_pool: .*one of the pools \(gpu, cpu\); found 'default'"):
        load()
    monkeypatch.setenv("RESOLUTE_API_DEFAULT_POOL", "cpu")
    assert load().pool_names == ("gpu", "cpu")


@pytest.mark.parametrize(
    ("pools", "expected"), [("gpu,cpu", "gpu"), ('[{"pool_name": "a"}, "b"]', "a"), ("gpu,default", "default")]
)
@pytest.mark.parametrize("told", [None, ""])
def test_unless_told_the_default_pool_is_the_one_of_that_name_or_the_first(
    monkeypatch: pytest.MonkeyPatch, pools: str, expected: str, told: str | None
) -> None:
    monkeypatch.setenv("RESOLUTE_DATABASE_URL", "postgresql://nowhere")
    monkeypatch.setenv("RESOLUTE_API_POOLS", pools)
    if told is not None:
        monkeypatch.setenv("RESOLUTE_API_DEFAULT_POOL", told)
        monkeypatch.setenv("RESOLUTE_API_DEFAULT_AUX_POOL", told)
    assert (load().default_pool, load().aux_pool) == (expected, expected)


@pytest.mark.parametrize(
    ("host", "task_host", "expected"),
    [
        ("127.0.0.1", "", ("127.0.0.1",)),
        ("127.0.0.1", "172.18.0.1", ("127.0.0.1", "172.18.0.1")),
        ("172.18.0.1", "172.18.0.1", ("172.18.0.1",)),
        ("0.0.0.0", "172.18.0.1", ("0.0.0.0",)),
        ("::", "fd00::1", ("::",)),
        ("::", "172.18.0.1", ("::", "172.18.0.1")),
        ("localhost", "172.18.0.1", ("localhost", "172.18.0.1")),
    ],
)
def test_where_all_addresses_are_listened_at_none_is_besides(
    host: str, task_host: str, expected: tuple[str, ...]
) -> None:
    assert ApiSettings(database_url="nowhere", host=host, task_host=task_host).hosts == expected


def test_zero_slot_work_goes_to_the_default_pool_unless_there_is_one_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_DATABASE_URL", "postgresql://nowhere")
    monkeypatch.setenv("RESOLUTE_API_POOLS", "default,aux")
    assert load().aux_pool == "default"
    monkeypatch.setenv("RESOLUTE_API_DEFAULT_AUX_POOL", "aux")
    assert load().aux_pool == "aux"


def test_a_pool_has_a_scheduler_of_its_own_or_the_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_DATABASE_URL", "postgresql://nowhere")
    monkeypatch.setenv("RESOLUTE_API_POOLS", '[{"pool_name": "default", "scheduler": {"type": "fair_share"}}, "cpu"]')
    monkeypatch.setenv("RESOLUTE_API_SCHEDULER", '{"preemption": true}')
    settings = load()
    assert settings.scheduler_of("default").type == "fair_share"
    assert (settings.scheduler_of("cpu").type, settings.scheduler_of("cpu").preemption) == ("priority", True)
