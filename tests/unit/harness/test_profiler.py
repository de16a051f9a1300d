"""System metrics: rates of counters, and that a run of any length leaves its samples."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from determined import core
from determined.core import _profiler
from tests.unit.harness.conftest import Master


def test_a_run_that_is_shorter_than_a_report_leaves_what_it_sampled(
    on_cluster: Callable[..., Master], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_profiler, "SHORTEST_SAMPLE_S", 0.0)
    master = on_cluster()
    with core.init() as context:
        context.profiler.on(sampling_interval=1, samples_per_report=10)
        context.profiler.off()
    groups = {report["group"] for report in master.reports()}
    assert {"cpu", "memory", "disk", "network"} <= groups


def test_counters_are_reported_as_what_they_grew_in_a_second() -> None:
    before = {"disk_util": 50.0, "disk_iops": 100.0, "disk_throughput_read": 0.0, "disk_throughput_write": 1000.0}
    now = {"disk_util": 51.0, "disk_iops": 120.0, "disk_throughput_read": 4096.0, "disk_throughput_write": 1000.0}
    assert _profiler._over("disk", before, now, 2.0) == {
        "disk_util": 51.0,
        "disk_iops": 10.0,
        "disk_throughput_read": 2048.0,
        "disk_throughput_write": 0.0,
    }


def test_a_disk_is_counted_in_bytes_and_operations() -> None:
    assert set(_profiler._disk()) == {"disk_util", "disk_iops", "disk_throughput_read", "disk_throughput_write"}
