"""How a workload fared: waiting, utilisation, preemptions, makespan, fairness. Arithmetic over what ran when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ran:
    """One piece of work: a task from its first request to its end, however often it was interrupted."""

    id: str
    group: str
    """The experiment or other job it belongs to."""
    slots: int
    arrival_s: float
    start_s: float | None
    """None: it never got its slots."""
    end_s: float | None
    """None: it had not ended."""
    waited_s: float
    """Without slots, in all: before its start, and after every interruption."""
    served_s: float
    preemptions: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    ran: tuple[Ran, ...]
    """In order of arrival."""
    capacity: tuple[tuple[float, int], ...]
    """(since when, slots of the agents that were there), in order of time."""
    starts: tuple[str, ...]
    """Ids, in the order in which they were first given slots."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Seconds."""

    count: int
    mean_s: float
    median_s: float
    p95_s: float
    max_s: float


@dataclass(frozen=True, slots=True)
class Measures:
    waiting: Waiting
    by_group: Mapping[str, Waiting]
    never_started: int
    preemptions: int
    makespan_s: float
    """From the first arrival to the last end."""
    utilisation: float
    """Slot-seconds served, out of those that the pool had until the last end; 0 to 1."""
    fairness: float
    """Jain's index over the jobs, of the share of its time in the pool that a job was served: 1 when all fared alike,
    1/n when one of n had everything. Jain, Chiu, Hawe, DEC TR-301 (1984)."""


def measure(outcome: Outcome) -> Measures:
    groups: dict[str, list[Ran]] = defaultdict(list)
    for ran in outcome.ran:
        groups[ran.group].append(ran)
    first = min((ran.arrival_s for ran in outcome.ran), default=0.0)
    last = max((ran.end_s for ran in outcome.ran if ran.end_s is not None), default=first)
    return Measures(
        waiting=_waiting(outcome.ran),
        by_group={group: _waiting(ran) for group, ran in groups.items()},
        never_started=sum(ran.start_s is None for ran in outcome.ran),
        preemptions=sum(ran.preemptions for ran in outcome.ran),
        makespan_s=last - first,
        utilisation=_utilisation(outcome, first, last),
        fairness=jain([_share(ran) for ran in groups.values()]),
    )


def jain(values: Sequence[float]) -> float:
    """(sum x)^2 / (n * sum x^2); 1 for nothing."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def percentile(values: Sequence[float], fraction: float) -> float:
    """The least value that at least `fraction` of them do not exceed. `values` are in order."""
    if not values:
        return 0.0
    return values[max(0, -(-int(len(values) * fraction * 1000) // 1000) - 1)]


def _waiting(ran: Iterable[Ran]) -> Waiting:
    """Of those that started: how long others would have waited is not known."""
    waits = sorted(one.waited_s for one in ran if one.start_s is not None)
    if not waits:
        return Waiting(0, 0.0, 0.0, 0.0, 0.0)
    mean = sum(waits) / len(waits)
    return Waiting(len(waits), mean, percentile(waits, 0.5), percentile(waits, 0.95), waits[-1])


def _share(ran: Iterable[Ran]) -> float:
    found = list(ran)
    served = sum(one.served_s for one in found)
    there = served + sum(one.waited_s for one in found)
    return served / there if there else 1.0


def _utilisation(outcome: Outcome, first: float, last: float) -> float:
    busy = sum(ran.served_s * ran.slots for ran in outcome.ran)
    until = [at for at, _ in outcome.capacity[1:]] + [last]
    stretches = zip(outcome.capacity, until, strict=False)
    had = sum(slots * max(0.0, min(end, last) - max(since, first)) for (since, slots), end in stretches)
    return busy / had if had else 0.0
