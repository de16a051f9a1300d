"""Which series the system metrics of a trial are, and how they lie in the reports of its groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from resolute.api.profiler.messages import SeriesType

GROUPS = ("cpu", "disk", "gpu", "memory", "misc", "network", "system", "timing")
"""Groups of reports that have system metrics. Only older clients report those of `misc`, `system` and `timing`."""

TYPES = {"misc": SeriesType.MISC, "timing": SeriesType.TIMING}
"""By group. All others are system metrics."""

BEGINNINGS = {"cpu": "cpu", "disk": "disk", "free": "memory", "gpu": "gpu", "memory": "memory", "net": "network"}
"""The group of a metric by the first word of its name."""


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one machine. A report of its group has the value at `agent_id` and then at `path`, which is the
    metric's name, the name behind the GPU and a dot, or the GPU and the name."""

    group: str
    agent_id: str
    path: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path[-1].rpartition(".")[2]

    @property
    def gpu_uuid(self) -> str:
        return self.path[0] if len(self.path) > 1 else self.path[0].rpartition(".")[0]

    @property
    def type(self) -> SeriesType:
        return TYPES.get(self.group, SeriesType.SYSTEM)


@dataclass(frozen=True, slots=True)
class Measured:
    """One value as an older client reports it."""

    series: Series
    at: datetime
    value: float
    batches: int


def group_of(name: str, of: SeriesType) -> str:
    """The group that a metric belongs to."""
    for group, type_ in TYPES.items():
        if of is type_:
            return group
    return BEGINNINGS.get(name.partition("_")[0], "system")


@dataclass(frozen=True, slots=True)
class Second:
    """The values of one group within one second: a report of the group."""

    group: str
    at: datetime
    metrics: Mapping[str, Mapping[str, float]]
    """By agent, then by the last part of the path."""
    batches: int


def seconds(measured: Iterable[Measured]) -> list[Second]:
    """Reports that hold these values, in order of time. Of several values of a series in one second it is the mean."""
    collected: dict[tuple[str, datetime], list[Measured]] = defaultdict(list)
    for one in measured:
        collected[one.series.group, one.at.replace(microsecond=0)].append(one)
    in_order = sorted(collected.items(), key=lambda item: (item[0][1], item[0][0]))
    return [Second(group, at, _means(values), max(one.batches for one in values)) for (group, at), values in in_order]


def _means(measured: Iterable[Measured]) -> Mapping[str, Mapping[str, float]]:
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in measured:
        values[one.series.agent_id][one.series.path[0]].append(one.value)
    return {
        agent_id: {name: sum(found) / len(found) for name, found in of_agent.items()}
        for agent_id, of_agent in values.items()
    }


def series_in(group: str, metrics: Mapping[str, Any]) -> set[Series]:
    """The series that a report has values of."""
    found = set()
    for agent_id, of_agent in metrics.items():
        for name, value in of_agent.items() if isinstance(of_agent, Mapping) else ():
            if is_number(value):
                found.add(Series(group, agent_id, (name,)))
            elif isinstance(value, Mapping):
                found |= {Series(group, agent_id, (name, inner)) for inner in value if is_number(value[inner])}
    return found


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
