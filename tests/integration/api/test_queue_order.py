"""The gateway's statements put the jobs of a pool in the order that `resolute.proto.queue.order_of` defines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction

import asyncpg
import hypothesis
import pytest
from hypothesis import strategies as st
from pydantic import SecretStr

from resolute.api.kernel.readmodel import ReadModel
from resolute.api.queue.explain_queries import PostgresExplain
from resolute.api.queue.order import keys_of, orders_of
from resolute.api.queue.projection import PROJECTION as QUEUE
from resolute.api.queue.queries import RANKED
from resolute.api.settings import ApiSettings
from resolute.api.tasks.projection import PROJECTION as TASKS
from resolute.config.pools import Scheduler
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import ResoluteError
from resolute.proto.message import Cause, Recorded
from resolute.proto.pool import MoveJob, RequestAllocation
from resolute.proto.queue import OrderKey, PolicyName, WaitRule, order_of
from resolute.scheduling.allocation import Allocation, State
from resolute.scheduling.policies import FairShare, Fifo, Policy, Priority
from resolute.scheduling.policies.passes import ahead_without_slots
from tests.property.scheduler.test_reasons import JOBS, STEPS, wish_of
from tests.servers import Postgres
from tests.unit.scheduler.stories import NOON, PoolStory, asks, exited, hello

SHARED: Sequence[tuple[Policy, Scheduler]] = (
    (Fifo(), Scheduler(type=PolicyName.FIFO)),
    (Priority(), Scheduler(type=PolicyName.PRIORITY)),
    (Priority(preemption=True), Scheduler(type=PolicyName.PRIORITY, preemption=True)),
    (FairShare(), Scheduler(type=PolicyName.FAIR_SHARE)),
    (FairShare(by_user=True), Scheduler(type=PolicyName.FAIR_SHARE, fair_share_groups="user")),
)
WITHOUT_SLOTS = {"j0", "j3"}
Key = tuple[Fraction | float | str, ...]


@dataclass
class Gateway:
    """The tables of a gateway in a Postgres, made anew for every story."""

    runner: asyncio.Runner
    dsn: str
    made: int = 0

    def asked(
        self, story: PoolStory, scheduler: Scheduler, waiting: Sequence[Allocation]
    ) -> tuple[list[asyncpg.Record], list[list[str]]]:
        """The queue, and for each that waits the jobs ahead of its own."""
        self.made += 1
        return self.runner.run(self._asked(story, scheduler, waiting))

    async def _asked(
        self, story: PoolStory, scheduler: Scheduler, waiting: Sequence[Allocation]
    ) -> tuple[list[asyncpg.Record], list[list[str]]]:
        async with asyncpg.create_pool(self.dsn, min_size=1, max_size=1, server_settings={"timezone": "UTC"}) as pool:
            read = ReadModel(pool, MemoryEventLog(), (TASKS, QUEUE), suffix=f"_story_{self.made}")
            await read.prepare()
            await read.handle(recorded(story))
            settings = ApiSettings(database_url=self.dsn, secret=SecretStr("x" * 32), scheduler=scheduler)
            ranked = await read.rows(f"{RANKED} SELECT * FROM ranked ORDER BY number", *orders_of(settings).arguments)
            ahead = [await _ahead(read, scheduler, one) for one in waiting]
            await read.drop()
            return ranked, ahead


async def _ahead(read: ReadModel, scheduler: Scheduler, one: Allocation) -> list[str]:
    needs_slots = one.request.slots > 0
    keys = keys_of(scheduler, slots=needs_slots)
    found = await PostgresExplain(read).ahead(
        "default", one.request.job_id, keys, needs_slots=needs_slots, never=[], most=len(JOBS)
    )
    return list(found.first)


def recorded(story: PoolStory) -> list[Recorded]:
    return [
        Recorded(n, "pool-default", n, event, Cause(f"cause-{n}"), NOON + timedelta(seconds=n))
        for n, event in enumerate(story.events, start=1)
    ]


@pytest.fixture(scope="module")
def gateway(postgres_server: Postgres) -> Iterator[Gateway]:
    dsn = postgres_server.fresh_database()
    with asyncio.Runner() as runner:
        yield Gateway(runner, dsn)
    postgres_server.forget_database(dsn)


def told(script: Sequence[tuple[str, int, int]], policy: Policy) -> PoolStory:
    """A pool after every wish of the script. Jobs differ in what they need, and all requests of a job are alike."""
    story = PoolStory(policy).given(hello("a1", 2), hello("a2", 2))
    for number, step in enumerate(script):
        wish = wish_of(story, number, step)
        if isinstance(wish, RequestAllocation):
            place = JOBS.index(wish.job_id)
            slots = 0 if wish.job_id in WITHOUT_SLOTS else max(1, wish.slots)
            priority, weight, owner = 40 + place % 4, (1.0, 2.0, 0.5)[place % 3], ("ada", "ben")[place % 2]
            wish = replace(wish, slots=slots, slots_min=None, priority=priority, weight=weight, owner=owner)
        try:
            story.when(wish) if wish is not None else None
        except ResoluteError:
            continue
    return story


def place_of(story: PoolStory, policy: Policy, job_id: str) -> Key:
    """The keys of the definition, of a job as the scheduler knows it."""
    job, jobs = story.pool.jobs[job_id], story.pool.jobs.values()
    shares_by_user = isinstance(policy, FairShare) and policy.by_user
    keys: dict[OrderKey, Fraction | float] = {
        OrderKey.SHARE: sum(other.slots_held for other in jobs if other.owner == job.owner)
        if shares_by_user
        else job.slots_held / job.weight,
        OrderKey.PRIORITY: job.priority,
        OrderKey.POSITION: job.position,
    }
    return (*(keys[key] for key in order_of(policy.name, slots=job_id not in WITHOUT_SLOTS)), job_id)


def in_order(story: PoolStory, policy: Policy, jobs: Iterable[str], *, slots: bool) -> list[str]:
    alike = (job_id for job_id in jobs if (job_id not in WITHOUT_SLOTS) == slots)
    return sorted(alike, key=lambda job_id: place_of(story, policy, job_id))


@hypothesis.settings(
    max_examples=25,
    phases=(
        hypothesis.Phase.explicit,
        hypothesis.Phase.generate,
    ),  # every look makes tables, so that shrinking takes minutes
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
@hypothesis.given(st.lists(STEPS, min_size=10, max_size=60), st.sampled_from(SHARED))
def test_the_queue_is_shown_in_the_order_that_is_defined(
    gateway: Gateway, script: list[tuple[str, int, int]], shared: tuple[Policy, Scheduler]
) -> None:
    policy, scheduler = shared
    story = told(script, policy)
    alive = list(story.pool.allocations.values())
    waiting = [one for one in alive if one.state is State.WAITING]
    if not alive:
        return
    ranked, ahead = gateway.asked(story, scheduler, waiting)
    holding = {one.request.job_id for one in alive if one.state is not State.WAITING}
    all_jobs = {one.request.job_id for one in alive}
    assert {row["job_id"] for row in ranked} == all_jobs
    for slots in (False, True):
        shown = [row for row in ranked if (row["job_id"] not in WITHOUT_SLOTS) == slots]
        queued = in_order(story, policy, all_jobs - holding, slots=slots)
        assert [row["job_id"] for row in shown] == [*in_order(story, policy, holding, slots=slots), *queued]
        assert [row["ahead"] for row in shown if not row["scheduled"]] == list(range(len(queued)))
        limited = {one.request.job_id for one in waiting if one.rule_waiting == WaitRule.MAX_SLOTS}
        wanting = {one.request.job_id for one in waiting} - limited
        for one, found in zip(waiting, ahead, strict=True):
            if (one.request.slots > 0) == slots:
                mine = place_of(story, policy, one.request.job_id)
                others = in_order(story, policy, wanting, slots=slots)
                assert found == [other for other in others if place_of(story, policy, other) < mine]


def test_a_job_goes_by_the_priority_and_the_weight_of_its_latest_request(gateway: Gateway) -> None:
    for policy, scheduler in SHARED[1], SHARED[3]:
        story = PoolStory(policy).given(hello("a1", 4), asks("t1", 1, job="first", priority=10, weight=4.0))
        story.given(asks("t2", 1, job="other", priority=30, weight=2.0))
        story.given(asks("t3", 1, job="first", priority=50, weight=1.0))
        ranked, _ = gateway.asked(story, scheduler, [])
        shown = {row["job_id"]: (row["priority"], row["weight"]) for row in ranked}
        jobs = story.pool.jobs
        assert shown == {name: (jobs[name].priority, jobs[name].weight) for name in ("first", "other")}
        assert shown["first"] == (50, 1.0)
        assert [row["job_id"] for row in ranked] == in_order(story, policy, shown, slots=True) == ["other", "first"]


def test_a_moved_job_stands_where_the_scheduler_put_it_among_jobs_that_did_not_wait_then(gateway: Gateway) -> None:
    """`ran` held its slot when `moved` was put behind `second`, and stands between the two when it waits again."""
    policy, scheduler = Fifo(), Scheduler(type=PolicyName.FIFO)
    story = PoolStory(policy).given(hello("a1", 2), asks("t1", 1, job="first"), asks("t2", 2, job="second"))
    story.given(asks("t3", 1, job="ran"), asks("t4", 2, job="third"), asks("t5", 2, job="moved"))
    story.given(MoveJob("default", "moved", behind_of="second"), exited(story, "t3"), asks("t6", 2, job="ran"))
    ranked, _ = gateway.asked(story, scheduler, [])
    assert [row["job_id"] for row in ranked] == ["first", "second", "ran", "moved", "third"]
    positions = {job_id: job.position for job_id, job in story.pool.jobs.items()}
    assert sorted(positions, key=lambda job_id: positions[job_id]) == ["first", "second", "ran", "moved", "third"]


@hypothesis.given(st.lists(STEPS, min_size=10, max_size=60), st.sampled_from([Fifo(), Priority(), Priority(True)]))
def test_the_scheduler_names_those_ahead_in_the_order_that_is_defined(
    script: list[tuple[str, int, int]], policy: Policy
) -> None:
    story = told(script, policy)
    for one in story.pool.allocations.values():
        if one.state is State.WAITING:
            slots = one.request.slots > 0
            _, found = (
                policy.ahead(story.pool, one, len(JOBS)) if slots else ahead_without_slots(story.pool, one, len(JOBS))
            )
            places = [place_of(story, policy, job_id) for job_id in found if (job_id not in WITHOUT_SLOTS) == slots]
            assert places == sorted(places)
            assert all(place < place_of(story, policy, one.request.job_id) for place in places)
