"""System metrics as series: where their values lie in reports, and which reports hold values that came by series."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from resolute.api.measures.metrics import MetricRow, is_of_machines, merged
from resolute.api.profiler.messages import SeriesType
from resolute.api.profiler.series import Measured, Series, group_of, seconds, series_in

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def test_a_series_is_found_in_each_form_of_a_report() -> None:
    metrics = {
        "agent": {"gpu-1.gpu_util": 1.0, "gpu-2": {"gpu_util": 2}, "words": "no number", "flag": True},
        "loss": 0.5,
    }
    found = series_in("gpu", metrics)
    assert found == {Series("gpu", "agent", ("gpu-1.gpu_util",)), Series("gpu", "agent", ("gpu-2", "gpu_util"))}
    assert {(one.name, one.gpu_uuid) for one in found} == {("gpu_util", "gpu-1"), ("gpu_util", "gpu-2")}


def test_a_metric_belongs_to_the_group_that_trials_report_it_in() -> None:
    names = ("cpu_util_simple", "net_throughput_sent", "disk_iops", "memory_free", "gpu_util", "other")
    found = [group_of(name, SeriesType.SYSTEM) for name in names]
    assert found == ["cpu", "network", "disk", "memory", "gpu", "system"]
    assert group_of("cpu_util_simple", SeriesType.TIMING) == "timing"
    assert Series("misc", "", ("samples",)).type is SeriesType.MISC


def test_the_values_of_a_second_are_one_report_with_their_means() -> None:
    cpu, memory = Series("cpu", "a", ("cpu_util_simple",)), Series("cpu", "b", ("cpu_util_simple",))
    values = (
        Measured(cpu, AT + timedelta(seconds=1), 5.0, 7),
        Measured(cpu, AT + timedelta(milliseconds=200), 1.0, 3),
        Measured(cpu, AT + timedelta(milliseconds=700), 2.0, 4),
        Measured(memory, AT, 9.0, 0),
    )
    first, second = seconds(values)
    assert (first.at, first.batches) == (AT, 4)
    assert first.metrics == {"a": {"cpu_util_simple": 1.5}, "b": {"cpu_util_simple": 9.0}}
    assert (second.at, second.metrics) == (AT + timedelta(seconds=1), {"a": {"cpu_util_simple": 5.0}})


def test_the_reports_of_machines_in_one_second_become_one_and_no_others_do() -> None:
    def row(**metrics: object) -> MetricRow:
        return MetricRow(1, 1, "disk", -7, {**metrics}, None, AT)

    (found,) = merged([row(a={"iops": 1.0}), row(b={"iops": 2.0}), row(a={"iops": 3.0, "util": 4.0})])
    assert found.metrics == {"a": {"iops": 1.0, "util": 4.0}, "b": {"iops": 2.0}}
    assert is_of_machines(found)
    assert not is_of_machines(row(loss=1.0))
    assert not is_of_machines(row())
