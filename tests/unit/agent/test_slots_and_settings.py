"""Which slots a host has, and how an agent is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from resolute.agent import gpus, runtimes, settings, slots
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import Slot

LISTING = "0, NVIDIA H200, GPU-8c4d\n1, NVIDIA H200, GPU-77aa\n"


def test_every_gpu_that_is_listed_is_a_slot() -> None:
    assert gpus.parse_nvidia(LISTING) == (
        Slot(0, "cuda", "NVIDIA H200", "GPU-8c4d"),
        Slot(1, "cuda", "NVIDIA H200", "GPU-77aa"),
    )
    assert gpus.parse_nvidia("No devices were found\n") == ()


ROCM = """WARNING: AMD GPU device(s) is/are in a low-power state.
{"card1": {"Device ID": "0x740f", "Unique ID": "0x9246fe6ea5fd2ca3", "Card Series": "AMD Instinct MI210"},
 "card0": {"GPU ID": "0x740f", "Unique ID": "N/A", "Card series": "AMD Instinct MI210"}, "system": {}}
"""


def test_amds_gpus_are_slots_too_however_their_tool_writes_its_fields() -> None:
    assert gpus.parse_rocm(ROCM) == (
        Slot(0, "rocm", "AMD Instinct MI210", "0"),
        Slot(1, "rocm", "AMD Instinct MI210", "GPU-9246fe6ea5fd2ca3"),
    )
    assert gpus.parse_rocm("") == gpus.parse_rocm("no {json") == ()


class Nvml:
    """The library, on a host with two GPUs."""

    class NVMLError(Exception):
        """Raised where there is no driver."""

    def __init__(self, works: bool = True) -> None:
        self.works, self.open = works, False

    def nvmlInit(self) -> None:
        if not self.works:
            raise self.NVMLError("driver not loaded")
        self.open = True

    def nvmlShutdown(self) -> None:
        self.open = False

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:
        return number

    def nvmlDeviceGetName(self, handle: int) -> bytes:
        return b"NVIDIA H200"

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}"


def test_nvml_is_asked_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert gpus.nvidia() == tuple(Slot(n, "cuda", "NVIDIA H200", f"GPU-{n}") for n in range(2))
    assert not library.open


def test_without_a_driver_the_tool_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", Nvml(works=False))
    tool = tmp_path / "nvidia-smi"
    (tmp_path / "listing").write_text(LISTING)
    tool.write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/listing\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [slot.uuid for slot in gpus.nvidia()] == ["GPU-8c4d", "GPU-77aa"]
    tool.write_text("#!/bin/sh\nexit 9\n")
    assert gpus.nvidia() == ()


def test_gpus_come_first_and_may_be_fewer_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "nvidia", lambda: gpus.parse_nvidia(LISTING))
    assert [s.uuid for s in slots.detect(None, False, True)] == ["GPU-8c4d", "GPU-77aa"]
    assert [s.uuid for s in slots.detect(1, False, True)] == ["GPU-8c4d"]
    assert [s.kind for s in slots.detect(None, False, False)] == ["cpu"]


@pytest.mark.parametrize(("count", "found"), [(None, 1), (0, 0), (3, 3)])
def test_without_gpus_there_are_as_many_slots_as_asked_or_one(count: int | None, found: int) -> None:
    assert len(slots.detect(count, False, False)) == found
    assert [s.kind for s in slots.detect(count, True, True)] == ["artificial"] * found


def test_a_wrong_setting_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_AGENT_SLOTS", "many")
    with pytest.raises(InvalidConfig, match=r"slots \(RESOLUTE_AGENT_SLOTS\): .*found 'many'"):
        runtimes.load()


def test_what_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_AGENT_POOL", "env")
    assert (runtimes.load().pool, runtimes.load(pool="given").pool) == ("env", "given")


def test_the_address_of_a_host_that_serves_itself_is_its_own() -> None:
    assert settings.host_towards("nats://127.0.0.1:4222") == "127.0.0.1"
    assert settings.host_towards("nats://user:pass@127.0.0.1") == "127.0.0.1"
    assert settings.host_towards("nonsense") == "127.0.0.1"
