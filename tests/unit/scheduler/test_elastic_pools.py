"""What an elastic pool starts and stops, and when it gives up."""

from __future__ import annotations

import pytest

from resolute.proto.pool import (
    AgentDisabled,
    AgentJoined,
    AgentLost,
    AllocationExited,
    CheckFit,
    DisableAgent,
    InstanceDrainRequested,
    InstanceGone,
    InstanceRequested,
    InstanceStopRequested,
    ProvisioningFailed,
)
from resolute.scheduling import fit
from resolute.scheduling.allocation import State as Allocated
from resolute.scheduling.demands import Kind
from resolute.scheduling.elastic import demand
from resolute.scheduling.elastic.demand import could_start
from resolute.scheduling.elastic.fleet import State
from resolute.scheduling.elastic.outlook import outlook
from resolute.scheduling.pool import Pool
from tests.unit.scheduler.elastic import IDLE_S, STARTING_S, Cloud, crashed, elastic
from tests.unit.scheduler.stories import PoolStory, asks, hello


def cloud(**provider: object) -> Cloud:
    return Cloud(elastic(**provider))


def test_nothing_waits_and_nothing_is_started() -> None:
    assert cloud().look() == []


def test_a_pool_keeps_its_least_with_or_without_work() -> None:
    pool = cloud(min_instances=2, max_instances=4).settle()
    assert len(pool.in_state(State.SERVING)) == 2
    pool.pass_by(3 * IDLE_S)
    assert len(pool.in_state(State.SERVING)) == 2


def test_as_many_are_started_as_the_queue_fills() -> None:
    pool = cloud(instance_slots=8, max_instances=9)
    for number in range(5):
        pool.story.when(asks(f"t{number}", slots=4))
    assert [type(event) for event in pool.look()] == [InstanceRequested] * 3
    pool.settle()
    assert len(pool.instances) == 3
    assert all(a.state is not Allocated.WAITING for a in pool.story.pool.allocations.values())


def test_a_gang_of_sixteen_on_instances_of_eight_needs_two() -> None:
    pool = cloud(instance_slots=8)
    pool.story.when(asks("gang", slots=16))
    pool.settle()
    assert len(pool.story.holders()["gang"]) == 2
    assert len(pool.instances) == 2


def test_a_gang_beyond_the_most_starts_nothing() -> None:
    pool = cloud(instance_slots=8, max_instances=1)
    pool.story.when(asks("gang", slots=16))
    assert not any(isinstance(event, InstanceRequested) for event in pool.look())


def test_a_gang_that_never_fits_does_not_hide_a_larger_one_that_does() -> None:
    pool = cloud(instance_slots=2, max_instances=2)
    pool.story.when(asks("never", slots=3)).when(asks("gang", slots=4))
    pool.settle()
    assert pool.story.holders().keys() == {"gang"}


def test_a_gang_waits_for_the_busy_ones_and_holds_on_to_the_idle_ones() -> None:
    pool = cloud(instance_slots=2, max_instances=3)
    pool.story.when(asks("long", slots=2)).when(asks("short", slots=2))
    pool.settle().finish("short")
    pool.story.when(asks("gang", slots=6))
    pool.pass_by(2 * IDLE_S)
    assert len(pool.in_state(State.SERVING)) == 2, "the idle one is not stopped: the gang will need it"
    pool.finish("long").settle()
    assert len(pool.story.holders()["gang"]) == 3


def test_what_is_coming_is_counted_once() -> None:
    pool = cloud(instance_slots=1)
    pool.story.when(asks("t"))
    pool.look()
    pool.later(1)
    assert pool.look() == []


def test_room_on_agents_of_other_kinds_is_used_first() -> None:
    pool = cloud(instance_slots=4)
    pool.story.when(hello("own", 4)).when(asks("big", slots=3)).when(asks("next", slots=1))
    assert pool.look() == []


def test_a_task_without_slots_gets_an_instance_where_there_is_none() -> None:
    pool = cloud(instance_slots=0)
    pool.story.when(asks("notebook", slots=0))
    pool.settle()
    assert pool.story.holders() == {"notebook": ("default-elastic-1",)}


def test_the_limit_of_a_job_is_the_limit_of_what_is_started_for_it() -> None:
    pool = cloud(instance_slots=1)
    for number in range(4):
        pool.story.when(asks(f"t{number}", job="search", max_slots=2))
    pool.settle()
    assert len(pool.instances) == 2


def test_an_idle_instance_stops_when_its_time_is_over_and_not_before() -> None:
    pool = cloud()
    pool.story.when(asks("t"))
    pool.settle().finish("t").settle()
    pool.pass_by(IDLE_S - 60)
    assert len(pool.in_state(State.SERVING)) == 1
    pool.pass_by(120)
    assert pool.instances == []
    assert pool.running == {}
    assert not pool.story.pool.agents["default-elastic-1"].present


def test_work_in_between_starts_the_idle_time_anew() -> None:
    pool = cloud()
    pool.story.when(asks("t"))
    pool.settle().finish("t").pass_by(IDLE_S - 60)
    pool.story.when(asks("u"))
    pool.finish("u").pass_by(IDLE_S - 60)
    assert len(pool.in_state(State.SERVING)) == 1


def test_nothing_is_placed_on_an_instance_from_the_moment_its_end_is_decided() -> None:
    pool = cloud(max_instances=1)
    pool.story.when(asks("t"))
    pool.settle().finish("t").settle().later(IDLE_S)
    stopping = pool.look()
    assert [type(event) for event in stopping] == [InstanceStopRequested, AgentDisabled]
    pool.story.when(asks("u"))
    pool.story.when(hello("default-elastic-1", 1))
    assert pool.story.holders() == {}
    pool.settle()
    assert pool.story.holders() == {"u": ("default-elastic-1",)}, "the next instance of that name is a new machine"


def test_a_spot_instance_that_vanishes_takes_its_work_along_and_is_replaced() -> None:
    pool = cloud()
    pool.story.when(asks("t"))
    pool.settle()
    pool.lose(pool.instances[0]).look()
    pool.work()
    events = pool.look()
    kinds = [type(event) for event in events]
    assert kinds[0] is InstanceGone
    assert AgentLost in kinds
    lost = next(event for event in events if isinstance(event, AllocationExited))
    assert (lost.outcome, lost.reason) == ("lost", "instance default-1 vanished")
    pool.story.when(asks("t-again"))
    pool.settle()
    assert [instance.name for instance in pool.instances] == ["default-2"]


def test_an_instance_whose_agent_falls_silent_is_replaced() -> None:
    pool = cloud(min_instances=1).settle()
    pool.silence(pool.instances[0]).settle(8)
    assert [instance.name for instance in pool.instances] == ["default-2"]


def test_an_instance_that_does_not_join_is_ended_and_counts_as_a_failure() -> None:
    pool = cloud()
    pool.story.when(asks("t"))
    pool.look()
    pool.work()
    pool.look()
    pool.later(STARTING_S + 1)
    assert [type(event) for event in pool.look()] == [ProvisioningFailed, InstanceStopRequested]
    assert "did not join within 600 s" in pool.story.pool.fleet.trouble


def test_failures_are_followed_by_growing_pauses() -> None:
    pool = cloud(launch_error_retries=9)
    pool.failing = "no quota"
    pool.story.when(asks("t"))
    pauses = []
    for _ in range(4):
        pool.look()
        pool.work()
        failed = next(event for event in pool.look() if isinstance(event, ProvisioningFailed))
        pauses.append((failed.retry_at - failed.at).total_seconds())
        pool.work()
        pool.look()
        assert pool.look() == [], "not before its time"
        pool.later(pauses[-1])
    assert pauses == [5, 10, 20, 40]


def test_too_many_failures_suspend_starting_and_one_instance_tries_the_ground() -> None:
    pool = cloud(launch_error_retries=1, max_instances=9)
    pool.failing = "no quota"
    for number in range(4):
        pool.story.when(asks(f"t{number}"))
    pool.settle(3).later(10).settle(3)
    assert pool.story.pool.fleet.suspended
    said = outlook(pool.story.pool.fleet)
    assert "2 in a row" in said
    assert "no quota" in said
    pool.later(600)
    assert len([event for event in pool.look() if isinstance(event, InstanceRequested)]) == 1
    pool.failing, pool.failed = "", {}
    pool.work()
    assert len(pool.in_state(State.REQUESTED, State.STARTED)) == 1, "the others wait for it to join"
    pool.settle()
    assert not pool.story.pool.fleet.suspended
    assert len(pool.in_state(State.SERVING)) == 4


def test_instances_that_fail_together_count_as_one_failure() -> None:
    pool = cloud(launch_error_retries=1)
    pool.failing = "no quota"
    for number in range(4):
        pool.story.when(asks(f"t{number}"))
    pool.settle(2)
    assert pool.story.pool.fleet.failures == 1
    assert not pool.story.pool.fleet.suspended


def test_a_launch_error_keeps_starting_suspended_for_as_long_as_it_is_set_to() -> None:
    pool = cloud(launch_error_timeout=3600)
    pool.failing = "no quota"
    pool.story.when(asks("t"))
    pool.settle(2)
    pool.failing = ""
    pool.pass_by(3000)
    assert pool.instances == []
    pool.pass_by(900)
    assert len(pool.instances) == 1


def test_who_waits_is_told_that_instances_come_and_that_they_do_not() -> None:
    pool = cloud(max_instances=3)
    pool.story.when(asks("running"))
    pool.settle()
    pool.failing = "no quota"
    pool.story.when(asks("t"))
    told = [why(pool)]
    pool.look()
    told.append(why(pool))
    pool.work()
    pool.look()
    told.append(why(pool))
    assert [rule for rule, _ in told] == ["busy", "starting", "suspended"]
    assert "1 instance is starting" in told[1][1]
    assert "no quota" in told[2][1]


def test_an_empty_pool_says_what_is_coming() -> None:
    pool = cloud()
    pool.story.when(asks("t"))
    pool.look()
    assert why(pool)[1] == "no agent has joined the pool yet, or all are disabled or lost; 1 instance is starting"


def why(pool: Cloud) -> tuple[str, str]:
    allocation = pool.story.pool.allocations["t"]
    return allocation.rule_waiting, allocation.why_waiting


@pytest.mark.parametrize("launched", [False, True], ids=["before the launch", "after it"])
def test_a_crash_between_request_and_launch_neither_doubles_nor_forgets(launched: bool) -> None:
    pool = cloud()
    pool.story.when(asks("t"))
    pool.look()
    if launched:
        pool.work()
    pool = crashed(pool).settle()
    assert list(pool.running) == ["default-1"]
    assert pool.story.holders() == {"t": ("default-elastic-1",)}


def test_fewer_allowed_than_there_are_means_the_busy_ones_finish_first() -> None:
    pool = cloud(max_instances=3)
    for number in range(3):
        pool.story.when(asks(f"t{number}"))
    pool.settle().set(max_instances=1)
    assert [type(e) for e in pool.look()].count(InstanceDrainRequested) == 2
    pool.settle()
    assert len(pool.running) == 3, "they hold work"
    draining = {instance.agent_id for instance in pool.in_state(State.DRAINING)}
    for allocation, hosts in list(pool.story.holders().items()):
        if hosts[0] in draining:
            pool.finish(allocation)
    pool.settle()
    assert len(pool.running) == 1


def test_an_instance_goes_on_serving_when_its_agent_restarts_with_a_slot_less() -> None:
    pool = cloud(min_instances=1, instance_slots=2).settle()
    (serving,) = pool.in_state(State.SERVING)
    pool.story.when(hello(serving.agent_id, 1))
    assert isinstance(pool.story.latest[0], AgentJoined)
    assert [instance.number for instance in pool.in_state(State.SERVING)] == [serving.number]


def test_an_agent_that_comes_back_does_not_save_an_instance_that_is_leaving() -> None:
    pool = cloud(max_instances=2, instance_slots=2)
    for number in range(4):
        pool.story.when(asks(f"t{number}"))
    pool.settle().set(max_instances=1).look()
    (leaving,) = pool.in_state(State.DRAINING)
    pool.story.when(hello(leaving.agent_id, 1))  # it restarted, and has lost a slot
    assert [instance.number for instance in pool.in_state(State.DRAINING)] == [leaving.number]
    for allocation, hosts in list(pool.story.holders().items()):
        if hosts[0] == leaving.agent_id:
            pool.finish(allocation)
    pool.look()
    pool.story.when(hello(leaving.agent_id, 2))
    assert [instance.number for instance in pool.in_state(State.STOPPING)] == [leaving.number]
    assert len(pool.settle().instances) == 1


def test_an_agent_a_person_disabled_takes_no_room_and_its_instance_goes_in_the_end() -> None:
    pool = cloud()
    pool.story.when(asks("t"))
    pool.settle().finish("t")
    pool.story.when(DisableAgent("default", "default-elastic-1"))
    pool.story.when(asks("u"))
    pool.settle()
    assert pool.story.holders() == {"u": ("default-elastic-2",)}
    pool.pass_by(IDLE_S + 60)
    assert [instance.agent_id for instance in pool.instances] == ["default-elastic-2"]


@pytest.mark.parametrize(
    ("slots", "single_agent", "fits"),
    [(0, False, True), (8, True, True), (16, False, True), (40, False, True), (48, False, False), (12, False, False)],
)
def test_what_a_pool_may_start_decides_what_can_ever_fit(slots: int, single_agent: bool, fits: bool) -> None:
    kind = Kind(slots, single_agent, (), slots)
    assert could_start(elastic(instance_slots=8, max_instances=5), kind) is fits
    assert not could_start(elastic(instance_slots=8), Kind(16, True, (), 16))


def test_a_task_without_slots_that_finds_no_place_keeps_nobody_from_having_an_instance_started() -> None:
    pool = cloud(instance_slots=2)
    pool.settings = pool.settings.model_copy(update={"max_aux_containers_per_agent": 0})
    pool.story.when(asks("notebook", 0, priority=1)).when(asks("t", 2))
    assert [event.agent_id for event in pool.look() if isinstance(event, InstanceRequested)] == ["default-elastic-1"]


def test_one_without_slots_takes_what_has_no_slot_free_as_well() -> None:
    pool = cloud(instance_slots=1)
    pool.story.when(asks("t", 1))
    pool.settle()
    pool.story.when(asks("notebook", 0))
    assert pool.look() == []


def test_a_pool_whose_agents_take_no_tasks_without_slots_starts_none_for_them() -> None:
    settings = elastic(instance_slots=8).model_copy(update={"max_aux_containers_per_agent": 0})
    assert not could_start(settings, Kind(0, False, (), 0))
    assert not fit.check(CheckFit("default", 0), Pool(), settings).fits
    assert could_start(settings, Kind(8, False, (), 8))


def test_a_look_at_a_long_queue_costs_what_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = list[str]()

    def pack(packing: object, pool: Pool, job_id: str, kind: Kind) -> None:
        looked.append(job_id)
        packed(packing, pool, job_id, kind)

    packed = demand._pack
    monkeypatch.setattr(demand, "_pack", pack)
    story = PoolStory()
    for number in range(300):
        story.when(asks(f"t{number}", 1 + number % 2, job=f"j{number % 30}", max_slots=3))
    ahead = demand.forecast(story.pool, elastic(instance_slots=2, max_instances=5), 5)
    assert len(ahead.wanted) == 5
    assert looked[:4] == ["j0", "j0", "j0", "j0"], "its limit allows three of one slot"
    assert len(looked) < 20
