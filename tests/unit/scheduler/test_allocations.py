"""The life of an allocation, from the request to the last exit."""

from __future__ import annotations

from datetime import timedelta

import pytest

from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.pool import (
    AcknowledgePreemption,
    AllocationExited,
    AllocationKillRequested,
    AllocationRequested,
    AllocationStarted,
    KillAllocation,
    MarkServing,
    PreemptAllocation,
    PreemptionAcknowledged,
    PreemptionRequested,
    ResourcesExited,
    ResourcesServeOthers,
    ResourcesStarted,
    SlotsAssigned,
)
from resolute.scheduler import orders
from resolute.scheduling import pool
from resolute.scheduling.decisions import EnforceDeadlines, ExpireLease, PoolInput
from tests.unit.scheduler.stories import NOON, PoolStory, asks, exited, given, hello, started

PREEMPT = PreemptAllocation("default", "one", "the experiment was paused")
KILL = KillAllocation("default", "one", "ada killed it")
ACKNOWLEDGE = AcknowledgePreemption("default", "one")


def running(slots: int = 1) -> PoolStory:
    story = given(hello(), asks("one", slots))
    return story.given(started(story, "one"))


def running_gang() -> PoolStory:
    story = given(hello("a1"), hello("a2"), asks("one", 4))
    return story.given(started(story, "one", 0), started(story, "one", 1))


def outcome(story: PoolStory) -> tuple[str, int | None]:
    event = story.only(AllocationExited)
    assert isinstance(event, AllocationExited)
    return event.outcome, event.exit_code


def test_a_request_that_fits_is_given_its_slots_by_the_same_append() -> None:
    given(hello()).when(asks("one")).then(AllocationRequested, SlotsAssigned)


def test_a_request_that_comes_twice_is_one_request() -> None:
    given(hello(), asks("one")).when(asks("one")).then()


def test_a_request_repeated_after_it_has_exited_starts_nothing() -> None:
    story = running()
    story.given(exited(story, "one")).when(asks("one")).then()


def test_a_negative_demand_names_the_field() -> None:
    with pytest.raises(InvalidConfig, match="slots: found -1"):
        given(hello()).when(asks("one", -1))


def test_it_has_started_when_all_of_its_shares_run() -> None:
    story = given(hello("a1"), hello("a2"), asks("one", 4))
    story.when(started(story, "one", 0)).then(ResourcesStarted)
    story.when(started(story, "one", 1)).then(ResourcesStarted, AllocationStarted)


def test_a_report_that_comes_twice_is_told_once() -> None:
    story = running()
    story.when(started(story, "one")).then()
    leaving = exited(story, "one")
    story.when(leaving).then(ResourcesExited, AllocationExited)
    story.when(leaving).then()


def test_an_agent_cannot_report_for_another() -> None:
    story = running()
    report = exited(story, "one")
    with pytest.raises(Refused, match="runs on a1, not on a2"):
        story.when(type(report)("a2", "default", report.allocation_id, report.resources_id, "exited"))


def test_who_fails_because_its_peers_host_has_gone_is_not_to_blame() -> None:
    story = given(hello("a1", 1), hello("a2", 1), asks("gang", 2))
    story.given(exited(story, "gang", 0, code=1)).when(ExpireLease("a2", 30))
    (event,) = [event for event in story.latest if isinstance(event, AllocationExited)]
    assert (event.outcome, event.exit_code, event.reason) == ("lost", None, "agent a2 was silent for 30 s")


def test_what_it_frees_goes_to_the_next_in_line_by_the_same_append() -> None:
    story = given(hello(slots=1), asks("one"), asks("two"))
    story.when(exited(story, "one")).then(ResourcesExited, AllocationExited, SlotsAssigned)
    assert story.holders() == {"two": ("a1",)}


@pytest.mark.parametrize("code", [0, 1, 137])
def test_an_exit_of_its_own_tells_its_code(code: int) -> None:
    story = running()
    story.when(exited(story, "one", code=code))
    assert outcome(story) == ("exited", code)


def test_a_clean_exit_after_acknowledging_a_preemption_is_yielding() -> None:
    story = running().given(PREEMPT).when(ACKNOWLEDGE).then(PreemptionAcknowledged)
    story.when(exited(story, "one"))
    assert outcome(story) == ("yielded", 0)


def test_a_clean_exit_that_did_not_acknowledge_is_the_work_done() -> None:
    story = running().given(PREEMPT)
    story.when(exited(story, "one"))
    assert outcome(story) == ("exited", 0)


def test_failing_while_it_yields_is_failing() -> None:
    story = running().given(PREEMPT, ACKNOWLEDGE)
    story.when(exited(story, "one", code=1))
    assert outcome(story) == ("exited", 1)


def test_a_preemption_gives_the_allocation_its_own_time() -> None:
    event = running().when(PREEMPT).only(PreemptionRequested)
    assert isinstance(event, PreemptionRequested)
    assert event.deadline_at == NOON + timedelta(seconds=60)


def test_a_preemption_asked_for_twice_keeps_its_first_deadline() -> None:
    running().given(PREEMPT).later(30).when(PREEMPT).then()


def test_past_its_deadline_it_is_killed_and_counts_as_having_yielded() -> None:
    story = running().given(PREEMPT)
    story.later(59).when(EnforceDeadlines()).then()
    story.later(2).when(EnforceDeadlines()).then(AllocationKillRequested)
    story.when(EnforceDeadlines()).then()
    story.when(exited(story, "one", code=137))
    assert outcome(story) == ("yielded", 137)


def test_acknowledging_what_nobody_asked_for_is_refused_and_says_so() -> None:
    with pytest.raises(Refused, match="running and no preemption was requested"):
        running().when(ACKNOWLEDGE)


def test_a_killed_allocation_ends_as_killed_whatever_its_code() -> None:
    story = running().when(KILL).then(AllocationKillRequested)
    story.when(exited(story, "one", code=0))
    assert outcome(story) == ("killed", 0)


def test_kill_wins_over_preemption() -> None:
    story = running().given(PREEMPT, KILL)
    story.when(exited(story, "one", code=137))
    assert outcome(story) == ("killed", 137)


def test_one_that_only_waits_is_gone_as_soon_as_it_is_killed() -> None:
    story = given(asks("one")).when(KILL).then(AllocationExited)
    assert outcome(story) == ("killed", None)


def test_one_that_only_waits_yields_at_once() -> None:
    story = given(asks("one")).when(PREEMPT).then(AllocationExited)
    assert outcome(story) == ("yielded", None)


@pytest.mark.parametrize("wish", [KILL, PREEMPT, ACKNOWLEDGE])
def test_wishes_that_come_after_the_end_are_late_not_wrong(wish: PoolInput) -> None:
    story = running()
    story.given(exited(story, "one")).when(wish).then()


@pytest.mark.parametrize("wish", [KILL, PREEMPT, ACKNOWLEDGE])
def test_wishes_for_what_never_was_are_told_so(wish: PoolInput) -> None:
    with pytest.raises(NotFound, match="no allocation one in pool default"):
        given(hello()).when(wish)


def test_a_share_that_fails_has_the_others_stopped_and_its_code_stands() -> None:
    story = running_gang()
    story.when(exited(story, "one", 1, code=3)).then(ResourcesExited)
    ((agent, stop),) = orders.to_stop(story.pool.allocations["one"])
    assert agent == "a1"
    assert (stop.reason, stop.peer_failed) == ("its share on a2 ended: told 3", True)
    story.when(exited(story, "one", 0, code=143)).then(ResourcesExited, AllocationExited)
    assert outcome(story) == ("exited", 3)


def test_a_share_of_a_gang_that_failed_ends_at_once_when_a_person_kills_it() -> None:
    story = running_gang()
    story.given(exited(story, "one", 1, code=3)).when(KILL).then(AllocationKillRequested)
    ((_, stop),) = orders.to_stop(story.pool.allocations["one"])
    assert not stop.peer_failed
    story.when(KILL).then()
    story.when(exited(story, "one", 0, code=143)).then(ResourcesExited, AllocationExited)
    assert outcome(story) == ("exited", 3)


def test_a_share_that_waits_for_one_that_could_not_start_is_stopped_at_once() -> None:
    story = given(hello("a1"), hello("a2"), asks("one", 4))
    story.given(started(story, "one", 0), exited(story, "one", 1, code=125))
    ((agent, stop),) = orders.to_stop(story.pool.allocations["one"])
    assert (agent, stop.peer_failed) == ("a1", False)


def test_a_share_that_ends_well_leaves_the_others_in_peace() -> None:
    story = running_gang()
    story.when(exited(story, "one", 1, code=0)).then(ResourcesExited)
    assert orders.to_stop(story.pool.allocations["one"]) == []
    story.when(exited(story, "one", 0, code=0))
    assert outcome(story) == ("exited", 0)


def serving(story: PoolStory, rank: int = 1) -> MarkServing:
    shares = list(story.pool.allocations["one"].shares)
    return MarkServing("default", "one", shares[rank])


def test_a_share_that_serves_others_is_stopped_when_they_have_exited_and_its_code_says_nothing() -> None:
    story = running_gang()
    story.when(serving(story)).then(ResourcesServeOthers)
    story.when(serving(story)).then()
    assert orders.to_stop(story.pool.allocations["one"]) == []
    story.when(exited(story, "one", 0, code=0)).then(ResourcesExited)
    ((agent, stop),) = orders.to_stop(story.pool.allocations["one"])
    assert (agent, stop.reason, stop.peer_failed) == ("a2", "the resources that it served have exited", False)
    story.when(exited(story, "one", 1, code=137)).then(ResourcesExited, AllocationExited)
    assert outcome(story) == ("exited", 0)


def test_a_share_may_say_that_it_serves_others_before_all_have_started_and_while_the_allocation_is_preempted() -> None:
    assigned = given(hello("a1"), hello("a2"), asks("one", 4))
    assigned.when(serving(assigned)).then(ResourcesServeOthers)
    preempting = running_gang().given(PREEMPT)
    preempting.when(serving(preempting)).then(ResourcesServeOthers)
    yielding = running_gang().given(PREEMPT, ACKNOWLEDGE)
    yielding.when(serving(yielding)).then(ResourcesServeOthers)
    assert orders.to_stop(yielding.pool.allocations["one"]) == []


def test_a_share_that_serves_others_and_fails_before_they_end_is_a_failure_like_any_other() -> None:
    story = running_gang()
    story.given(serving(story)).when(exited(story, "one", 1, code=3))
    ((agent, _),) = orders.to_stop(story.pool.allocations["one"])
    assert agent == "a1"
    story.when(exited(story, "one", 0, code=143))
    assert outcome(story) == ("exited", 3)


def test_a_share_that_is_marked_after_the_others_have_exited_is_stopped_too() -> None:
    story = running_gang()
    late = serving(story)
    story.given(exited(story, "one", 0, code=0)).when(late).then(ResourcesServeOthers)
    assert [agent for agent, _ in orders.to_stop(story.pool.allocations["one"])] == ["a2"]


def test_a_gang_that_yields_while_a_share_serves_it_has_yielded() -> None:
    story = running_gang()
    story.given(serving(story), PREEMPT, ACKNOWLEDGE, exited(story, "one", 0, code=0))
    story.when(exited(story, "one", 1, code=143))
    assert outcome(story) == ("yielded", 0)


def test_not_all_shares_of_an_allocation_can_serve_others() -> None:
    story = running_gang()
    with pytest.raises(Refused, match="leave one of them unmarked"):
        story.given(serving(story)).when(serving(story, 0))
    alone = running()
    with pytest.raises(Refused, match="has no others"):
        alone.when(serving(alone, 0))
    with pytest.raises(NotFound, match="no resources r-9"):
        alone.when(MarkServing("default", "one", "r-9"))


def test_what_has_exited_is_remembered_for_long_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "FINISHED_REMEMBERED", 2)
    story = given(hello())
    for name in ("one", "two", "three"):
        story.given(asks(name))
        story.given(exited(story, name))
    story.when(KillAllocation("default", "two", "late")).then()
    with pytest.raises(NotFound):
        story.when(KILL)
