"""System metrics on demand: CPU, memory, disk and network from /proc, GPUs from nvidia-smi.

Bytes and bytes a second for memory, throughput and network; per cent for utilisation.
"""

from __future__ import annotations

import logging
import os
import pathlib
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from determined import gpu
from determined.core._distributed import DistributedContext
from determined.core._metrics import _MetricsContext

logger = logging.getLogger("determined.core")

SHORTEST_SAMPLE_S = 0.1
SECTOR_BYTES = 512
"""The unit of /proc/diskstats, whatever the device's own is (Linux, Documentation/admin-guide/iostats.rst)."""
COUNTERS = frozenset(
    ("net_throughput_recv", "net_throughput_sent", "disk_iops", "disk_throughput_read", "disk_throughput_write")
)
"""Counters, which only grow: their growth per second is reported."""

Sample = dict[str, float]
Reader = Callable[[], Sample]


class ProfilerContext:
    """Samples while it is on and reports averages, as metrics of the groups cpu, memory, disk, network, gpu."""

    def __init__(self, agent_id: str, metrics: _MetricsContext, distributed: DistributedContext) -> None:
        self._agent_id = agent_id
        self._metrics = metrics
        self._distributed = distributed
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def on(self, sampling_interval: int = 1, samples_per_report: int = 10) -> None:
        """Sample every `sampling_interval` seconds, report the mean of `samples_per_report` samples.

        One process per machine samples, for all.
        """
        if not isinstance(sampling_interval, int) or sampling_interval < 1:
            raise ValueError(f"sampling_interval: expected whole seconds, at least 1, found {sampling_interval!r}")
        if not isinstance(samples_per_report, int) or samples_per_report < 1:
            raise ValueError(f"samples_per_report: expected at least 1, found {samples_per_report!r}")
        if self._thread is not None:
            logger.warning("the profiler is on already")
            return
        if self._distributed.local_rank == 0:
            self._stop = threading.Event()
            arguments = (self._stop, sampling_interval, samples_per_report)
            self._thread = threading.Thread(target=self._run, args=arguments, name="profiler", daemon=True)
            self._thread.start()

    def off(self) -> None:
        """Stop sampling."""
        if self._thread is not None and self._stop is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _run(self, stop: threading.Event, interval_s: int, per_report: int) -> None:
        readers = _readers()
        before = {group: read() for group, read in readers.items()}
        samples: dict[str, list[Sample]] = {group: [] for group in readers}
        read_at_s, ending = time.monotonic(), False
        while not ending:
            ending = stop.wait(interval_s)
            now_s = time.monotonic()
            if now_s - read_at_s < SHORTEST_SAMPLE_S:
                break  # stopped right after a sample: rates over so little time would be noise
            for group, read in readers.items():
                now = read()
                samples[group].append(_over(group, before[group], now, now_s - read_at_s))
                before[group] = now
            read_at_s = now_s
            if len(samples["cpu"]) >= per_report:
                self._report(samples)
                samples = {group: [] for group in readers}
        self._report(samples)  # the samples since the last report

    def _report(self, samples: Mapping[str, Sequence[Sample]]) -> None:
        for group, collected in samples.items():
            if average := mean(collected):
                labelled = {self._agent_id: average}
                self._metrics.report(group, None, labelled, report_time=datetime.now(UTC))


class DummyProfilerContext(ProfilerContext):
    """Without a cluster, samples are dropped."""

    def __init__(self) -> None:
        self._thread = None
        self._stop = None

    def on(self, sampling_interval: int = 1, samples_per_report: int = 10) -> None:
        return

    def off(self) -> None:
        return


def mean(samples: Sequence[Sample]) -> Sample:
    """The mean of each value over the samples that have it."""
    names = {name for sample in samples for name in sample}
    values = {name: [sample[name] for sample in samples if name in sample] for name in names}
    return {name: sum(found) / len(found) for name, found in sorted(values.items())}


def _over(group: str, before: Sample, now: Sample, seconds: float) -> Sample:
    """The rates of counters between two readings; other values as they are now."""
    if group == "cpu":
        total, idle = now["total"] - before["total"], now["idle"] - before["idle"]
        return {"cpu_util_simple": 100.0 * (total - idle) / total if total else 0.0}
    if group in ("network", "disk"):
        return {
            name: (value - before.get(name, value)) / seconds if name in COUNTERS else value
            for name, value in now.items()
        }
    return now


def _readers() -> dict[str, Reader]:
    readers: dict[str, Reader] = {"cpu": _cpu, "memory": _memory, "disk": _disk, "network": _network}
    if gpu.get_gpus()[0]:
        readers["gpu"] = _gpus
    return readers


def _cpu() -> Sample:
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    ticks = [float(field) for field in fields[:8]]
    return {"total": sum(ticks), "idle": ticks[3] + ticks[4]}


def _memory() -> Sample:
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    kibibytes = {line.split(":")[0]: float(line.split()[1]) for line in lines}
    return {"memory_free": kibibytes["MemAvailable"] * 1024}


def _disk() -> Sample:
    usage = shutil.disk_usage(os.getcwd())
    return {"disk_util": 100.0 * usage.used / usage.total, **_disk_counters()}


def _disk_counters() -> Sample:
    """The counters of all disks together since the start of the machine; empty when they cannot be read."""
    operations = read = written = 0.0
    try:
        lines = pathlib.Path("/proc/diskstats").read_text().splitlines()
    except OSError:
        return {}
    for fields in map(str.split, lines):
        if pathlib.Path("/sys/block", fields[2]).exists():  # a partition's traffic is in its disk's already
            operations += float(fields[3]) + float(fields[7])
            read, written = read + float(fields[5]), written + float(fields[9])
    return {
        "disk_iops": operations,
        "disk_throughput_read": read * SECTOR_BYTES,
        "disk_throughput_write": written * SECTOR_BYTES,
    }


def _network() -> Sample:
    received = sent = 0.0
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines()[2:]:
        name, _, counters = line.partition(":")
        if name.strip() != "lo":
            fields = counters.split()
            received, sent = received + float(fields[0]), sent + float(fields[8])
    return {"net_throughput_recv": received, "net_throughput_sent": sent}


def _gpus() -> Sample:
    sample: Sample = {}
    for one, free_bytes in gpu.get_gpus_and_free_bytes():
        sample[f"{one.uuid}.gpu_util"] = 100.0 * one.load
        sample[f"{one.uuid}.gpu_memory_util"] = 100.0 * one.memoryUtil
        sample[f"{one.uuid}.gpu_free_memory"] = free_bytes
    return sample
