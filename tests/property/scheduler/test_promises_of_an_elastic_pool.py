"""Whatever happens to an elastic pool, it keeps its limits, its work, and its head."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from resolute.config.pools import ResourcePool
from resolute.proto.message import Event
from resolute.proto.pool import InstanceRequested, InstanceStopRequested
from resolute.scheduling.allocation import State as Allocated
from resolute.scheduling.demands import kind_of
from resolute.scheduling.elastic import fleet
from resolute.scheduling.elastic.demand import could_start
from resolute.scheduling.elastic.fleet import FLOW, State
from tests.unit.scheduler.elastic import IDLE_S, Cloud, crashed, elastic
from tests.unit.scheduler.stories import asks

STEP = st.one_of(
    st.tuples(st.just("ask"), st.integers(0, 9)),
    st.tuples(st.just("ask"), st.integers(1, 2)),
    st.tuples(st.just("finish"), st.integers(0, 99)),
    st.tuples(st.just("look"), st.just(0)),
    st.tuples(st.just("work"), st.just(0)),
    st.tuples(st.just("join"), st.just(0)),
    st.tuples(st.just("settle"), st.just(0)),
    st.tuples(st.just("lose"), st.integers(0, 99)),
    st.tuples(st.just("silence"), st.integers(0, 99)),
    st.tuples(st.just("fail"), st.booleans()),
    st.tuples(st.just("crash"), st.just(0)),
    st.tuples(st.just("later"), st.sampled_from([1, 30, 300, IDLE_S, 2 * IDLE_S])),
)

POOLS = st.builds(
    lambda least, more, slots, retries: elastic(
        min_instances=least, max_instances=least + more, instance_slots=slots, launch_error_retries=retries
    ),
    st.integers(0, 2),
    st.integers(1, 4),
    st.sampled_from([1, 2, 4]),
    st.integers(0, 3),
)


def play(cloud: Cloud, script: list[tuple[str, float]]) -> Cloud:
    for number, (what, how) in enumerate(script):
        cloud = step(cloud, number, what, how)
        check_limits(cloud)
    return cloud


def step(cloud: Cloud, number: int, what: str, how: float) -> Cloud:
    pool = cloud.story.pool
    match what:
        case "ask":
            cloud.story.when(asks(f"t{number}", int(how)))
        case "finish" if running := [a.id for a in pool.allocations.values() if a.shares]:
            cloud.finish(running[int(how) % len(running)])
        case "look":
            check_stops(cloud, cloud.look())
        case "work" | "join" | "settle":
            getattr(cloud, what)()
        case "lose" if mine := [i for i in cloud.instances if i.name in cloud.running]:
            cloud.lose(mine[int(how) % len(mine)])
        case "silence" if serving := cloud.in_state(State.SERVING):
            cloud.silence(serving[int(how) % len(serving)])
        case "fail":
            cloud.failing = "no quota" if how else ""
        case "crash":
            return crashed(cloud)
        case "later":
            cloud.later(how)
    return cloud


def check_limits(cloud: Cloud) -> None:
    provider = cloud.settings.provider
    assert provider is not None
    assert len(cloud.instances) <= provider.max_instances
    assert len({instance.agent_id for instance in cloud.instances}) == len(cloud.instances)


def check_stops(cloud: Cloud, events: list[Event]) -> None:
    provider, pool = cloud.settings.provider, cloud.story.pool
    assert provider is not None
    idle = [e.number for e in events if isinstance(e, InstanceStopRequested) and "was idle" in e.reason]
    for number in idle:
        assert not pool.agents[pool.fleet.instances[number].agent_id].shares, "it held work"
        assert not [
            a
            for a in pool.allocations.values()
            if a.state is Allocated.WAITING and could_start(cloud.settings, kind_of(a.request))
        ], "somebody waited for it"
    staying = len(cloud.instances) - len(cloud.in_state(State.STOPPING, State.DRAINING))
    assert not idle or staying >= provider.min_instances


@given(POOLS, st.lists(STEP, max_size=60))
@settings(max_examples=150, deadline=None)
def test_whatever_happens_limits_are_kept_and_nothing_needed_is_stopped(
    pool: ResourcePool, script: list[tuple[str, float]]
) -> None:
    play(Cloud(pool), script)


@given(POOLS, st.lists(STEP, max_size=40))
@settings(max_examples=60, deadline=None)
def test_a_workload_that_stays_as_it_is_finds_a_pool_that_does_too(
    pool: ResourcePool, script: list[tuple[str, float]]
) -> None:
    assert pool.provider is not None
    cloud = play(Cloud(pool), script)
    cloud.failing = ""
    cloud.pass_by(3 * IDLE_S).settle(10)
    assert len(cloud.in_state(State.SERVING)) >= pool.provider.min_instances
    waits = [a for a in cloud.story.pool.allocations.values() if a.state is Allocated.WAITING]
    assert not waits or len(cloud.in_state(State.SERVING)) == pool.provider.max_instances or cannot_run(cloud)
    quiet = [event for _ in range(3 * int(IDLE_S) // 60) for event in cloud.later(60).look()]
    assert quiet == []
    assert set(cloud.running) == {instance.name for instance in cloud.instances}


def cannot_run(cloud: Cloud) -> bool:
    """Everything that waits is behind a gang that waits for busy instances, or can never fit."""
    waits = [a for a in cloud.story.pool.allocations.values() if a.state is Allocated.WAITING]
    slots = cloud.settings.provider.instance_slots if cloud.settings.provider else 0
    able = [a for a in waits if could_start(cloud.settings, kind_of(a.request))]
    return not able or any(a.request.slots > slots for a in able)


@given(POOLS, st.lists(STEP, max_size=40), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_requests_are_numbered_and_no_number_is_used_twice(
    pool: ResourcePool, script: list[tuple[str, float]], asked: int
) -> None:
    cloud = play(Cloud(pool), [*script, ("ask", asked), ("settle", 0)])
    numbers = [event.number for event in cloud.story.events if isinstance(event, InstanceRequested)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_arrow_of_the_life_of_an_instance_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = set()

    class Watched(dict[Any, Any]):
        def __getitem__(self, arrow: Any) -> Any:
            walked.add(arrow)
            return super().__getitem__(arrow)

    monkeypatch.setattr(fleet, "FLOW", Watched(FLOW))
    for story in STORIES:
        play(Cloud(elastic(max_instances=2, launch_error_retries=1)), story)
    drains()
    assert walked == set(FLOW)


STORIES: list[list[tuple[str, float]]] = [
    [("ask", 1), ("look", 0), ("work", 0), ("look", 0), ("join", 0)],
    [("ask", 1), ("settle", 0), ("finish", 0), ("look", 0), ("later", IDLE_S), ("settle", 0)],
    [("ask", 1), ("look", 0), ("work", 0), ("join", 0), ("look", 0), ("silence", 0), ("join", 0), ("settle", 0)],
    [("ask", 1), ("look", 0), ("fail", True), ("work", 0), ("settle", 0)],
    [("ask", 1), ("look", 0), ("work", 0), ("look", 0), ("lose", 0), ("look", 0), ("settle", 0)],
    [("ask", 1), ("look", 0), ("work", 0), ("look", 0), ("later", IDLE_S), ("look", 0), ("join", 0), ("settle", 0)],
]


def drains() -> None:
    cloud = Cloud(elastic(max_instances=2))
    cloud.story.when(asks("a")).when(asks("b"))
    cloud.settle().set(max_instances=1).settle()
    (draining,) = cloud.in_state(State.DRAINING)
    cloud.silence(draining).join()
    for allocation in list(cloud.story.holders()):
        cloud.finish(allocation)
    cloud.settle()
