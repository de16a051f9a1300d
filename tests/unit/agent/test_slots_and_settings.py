"""Which slots a host has, and how an agent is told."""

from __future__ import annotations

import pytest

from resolute.agent import settings, slots
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import Slot

LISTING = "0, NVIDIA H200, GPU-8c4d\n1, NVIDIA H200, GPU-77aa\n"


def test_every_gpu_that_is_listed_is_a_slot():
    assert slots.parse_nvidia(LISTING) == (
        Slot(0, "cuda", "NVIDIA H200", "GPU-8c4d"),
        Slot(1, "cuda", "NVIDIA H200", "GPU-77aa"),
    )
    assert slots.parse_nvidia("No devices were found\n") == ()


def test_gpus_come_first_and_may_be_fewer_than_there_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slots, "nvidia_gpus", lambda: slots.parse_nvidia(LISTING))
    assert [s.uuid for s in slots.detect(None, False, True)] == ["GPU-8c4d", "GPU-77aa"]
    assert [s.uuid for s in slots.detect(1, False, True)] == ["GPU-8c4d"]
    assert [s.kind for s in slots.detect(None, False, False)] == ["cpu"]


@pytest.mark.parametrize(("count", "found"), [(None, 1), (0, 0), (3, 3)])
def test_without_gpus_there_are_as_many_slots_as_asked_or_one(count, found):
    assert len(slots.detect(count, False, False)) == found
    assert [s.kind for s in slots.detect(count, True, True)] == ["artificial"] * found


def test_a_wrong_setting_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RESOLUTE_AGENT_SLOTS", "many")
    with pytest.raises(InvalidConfig, match=r"slots \(RESOLUTE_AGENT_SLOTS\): .*found 'many'"):
        settings.load()


def test_what_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RESOLUTE_AGENT_POOL", "env")
    assert (settings.load().pool, settings.load(pool="given").pool) == ("env", "given")


def test_the_address_of_a_host_that_serves_itself_is_its_own():
    assert settings.host_towards("nats://127.0.0.1:4222") == "127.0.0.1"
    assert settings.host_towards("nats://user:pass@127.0.0.1") == "127.0.0.1"
    assert settings.host_towards("nonsense") == "127.0.0.1"
