"""What if: worked examples of workloads that met another policy, another pool."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from resolute.config.pools import ResourcePool, Scheduler
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.message import Cause, Recorded
from resolute.proto.pool import AgentLost, ChangeJob
from resolute.proto.queue import PolicyName
from resolute.scheduling.policies import Policy, policy_for
from resolute.whatif.pools import Outcome, measure, read, report, whatif
from resolute.whatif.pools.measures import jain, percentile
from resolute.whatif.pools.question import Question, answer
from resolute.whatif.pools.recording import Change
from resolute.whatif.pools.simulate import agents
from tests.unit.scheduler.recorded import Cluster, Job
from tests.unit.scheduler.stories import NOON

ONE_SLOT = [("a1", 1)]


def policy(kind: PolicyName = PolicyName.PRIORITY, preemption: bool = False) -> Policy:
    return policy_for(ResourcePool(scheduler=Scheduler(type=kind, preemption=preemption)))


def log_of(*jobs: Job, on: list[tuple[str, int]] = ONE_SLOT, preemption: bool = False) -> list[Recorded]:
    return Cluster(policy(preemption=preemption)).play(on, jobs)


def waits(outcome: Outcome) -> dict[str, float]:
    return {ran.id.partition("/")[0]: round(ran.waited_s, 6) for ran in outcome.ran}


def test_two_jobs_on_one_slot_wait_for_one_another_and_on_two_they_do_not() -> None:
    recording = read(log_of(Job("a", 0, 100), Job("b", 10, 50)), "default")
    assert waits(recording.recorded) == {"a": 0, "b": 90}
    assert waits(whatif(recording.works, recording.changes, policy())) == {"a": 0, "b": 90}
    assert waits(whatif(recording.works, agents(2, 1), policy())) == {"a": 0, "b": 0}


def test_preemption_lets_the_urgent_go_first_and_the_other_finish_later() -> None:
    recording = read(log_of(Job("a", 0, 100), Job("urgent", 10, 50, priority=1)), "default")
    preempting = whatif(recording.works, recording.changes, policy(preemption=True))
    assert waits(preempting) == {"a": 50, "urgent": 0}
    assert measure(preempting).preemptions == 1
    assert measure(preempting).makespan_s == 150


def test_what_was_preempted_is_one_piece_of_work_and_may_run_in_one_go() -> None:
    log = log_of(Job("a", 0, 100), Job("urgent", 10, 50, priority=1), preemption=True)
    recording = read(log, "default")
    assert [(work.id, work.service_s) for work in recording.works] == [("a/1", 100), ("urgent/1", 50)]
    assert waits(recording.recorded) == {"a": 50, "urgent": 0}
    assert measure(recording.recorded).preemptions == 1
    assert waits(whatif(recording.works, recording.changes, policy())) == {"a": 0, "urgent": 90}


def test_who_was_asked_for_at_the_end_of_another_comes_earlier_where_that_one_does() -> None:
    recording = read(log_of(Job("a", 0, 100), Job("b", 10, 50), Job("c", 5, 10, after="b")), "default")
    (after,) = [work.after for work in recording.works if work.after is not None]
    assert (after.work, after.at_end, after.gap_s) == ("b/1", True, 5)
    faster = whatif(recording.works, agents(2, 1), policy())
    ends = {ran.id: ran.end_s for ran in faster.ran}
    assert ends == {"a/1": 100, "b/1": 60, "c/1": 75}


def test_other_weights_share_the_slots_otherwise() -> None:
    jobs = [Job(f"{who}{n}", 0.01 * n, 100) for n in range(4) for who in "ab"]
    recording = read(log_of(*jobs, on=[("a1", 4)]), "default")
    works = [replace(work, request=replace(work.request, job_id=work.id[0])) for work in recording.works]
    even = whatif(works, recording.changes, policy(PolicyName.FAIR_SHARE))
    uneven = whatif(works, recording.changes, policy(PolicyName.FAIR_SHARE), weights={"a": 3.0, "b": 1.0})
    assert sorted(name[0] for name in even.starts[:4]) == ["a", "a", "b", "b"]
    assert waited(uneven, "a") < waited(even, "a")
    assert waited(uneven, "b") > waited(even, "b")


def test_a_weight_that_is_wondered_about_is_not_undone_by_what_people_did_then() -> None:
    jobs = [Job(f"{who}{n}", 0.01 * n, 100) for n in range(4) for who in "ab"]
    recording = read(log_of(*jobs, on=[("a1", 4)]), "default")
    works = [replace(work, request=replace(work.request, job_id=work.id[0])) for work in recording.works]
    back = Change(0.02, ChangeJob("default", "a", {"weight": 1.0}))
    weights = {"a": 3.0, "b": 1.0}
    quiet = whatif(works, recording.changes, policy(PolicyName.FAIR_SHARE), weights=weights)
    changes = sorted((*recording.changes, back), key=lambda change: change.at_s)
    assert whatif(works, changes, policy(PolicyName.FAIR_SHARE), weights=weights) == quiet


def test_a_weight_for_what_did_not_run_is_refused() -> None:
    recording = read(log_of(Job("a", 0, 100)), "default")
    with pytest.raises(InvalidConfig, match="--weights: nothing of experiment 999 ran in pool 'default'"):
        answer(Question(ResourcePool(), weights={"999": 2.0}), recording)


def waited(outcome: Outcome, job: str) -> float:
    return sum(ran.waited_s for ran in outcome.ran if ran.id.startswith(job))


def test_the_log_says_by_which_policy_work_was_scheduled() -> None:
    log = Cluster(policy(PolicyName.FAIR_SHARE)).play(ONE_SLOT, [Job("a", 0, 100), Job("b", 10, 50)])
    settings = ResourcePool(scheduler=Scheduler(type=PolicyName.FIFO, fitting_policy="worst"))
    told = answer(Question(settings, policy="priority", preemption=True), read(log, "default"))
    assert told.policies == ("fair_share", "priority with preemption")
    assert told.again == told.recorded


def test_a_stretch_without_work_says_so() -> None:
    with pytest.raises(NotFound, match=r"no work ran in pool 'default'.*--from"):
        answer(Question(ResourcePool()), read([], "default"))


def test_the_answer_is_told_in_tables_and_with_what_it_does_not_know() -> None:
    recording = read(log_of(Job("a", 0, 100), Job("b", 10, 4000), Job("huge", 1, 1, slots=8)), "default")
    told = answer(Question(ResourcePool(), agents=2), recording)
    headers, rows = report.overview(told)
    assert headers[1:] == ("recorded", "recorded policy, simulated", "what if")
    assert ("makespan", "1 h 08 m", "1 h 08 m", "1 h 06 m") in rows
    assert report.preface(told)[2] == "what if:  priority without preemption, 2 agents of 1 slot each"
    assert "1 requests that never had their slots" in report.caveats(told)[0]
    assert report.document(told)["what_if"]["waiting"]["max_s"] == 0


def test_a_gang_takes_all_it_needs_at_once() -> None:
    recording = read(log_of(Job("a", 0, 100), Job("gang", 1, 10, slots=2), on=[("a1", 1), ("a2", 1)]), "default")
    assert waits(whatif(recording.works, recording.changes, policy())) == {"a": 0, "gang": 99}


def test_a_lost_agent_is_lost_in_the_simulation_too_and_its_work_goes_on_elsewhere() -> None:
    recording = read(log_of(Job("a", 0, 100), on=[("a1", 1), ("a2", 1)]), "default")
    log = [*log_of(Job("a", 0, 100), on=[("a1", 1), ("a2", 1)])]
    lost = Recorded(99, "pool-default", 0, AgentLost("a1", "gone"), Cause("x"), NOON + timedelta(seconds=30))
    log.insert(next(i for i, r in enumerate(log) if r.recorded_at > lost.recorded_at), lost)
    recording = replace(recording, changes=read(log, "default").changes)
    (ran,) = whatif(recording.works, recording.changes, policy()).ran
    assert (ran.end_s, ran.served_s) == (100, 100)


def test_a_window_begins_with_what_ran_then() -> None:
    log = log_of(Job("a", 0, 100), Job("b", 10, 50), Job("c", 20, 10))
    recording = read(log, "default", since=NOON + timedelta(seconds=60))
    assert [(work.id, work.arrival_s, work.service_s) for work in recording.works] == [
        ("a/1", 0, 40),
        ("b/1", 0, 50),
        ("c/1", 0, 10),
    ]
    assert measure(recording.recorded) == measure(whatif(recording.works, recording.changes, policy()))


def test_what_never_ran_is_left_out_and_counted() -> None:
    recording = read(log_of(Job("a", 0, 100), Job("huge", 1, 10, slots=8)), "default")
    assert recording.never_ran == 1
    assert [work.id for work in recording.works] == ["a/1"]


def test_what_still_ran_at_the_end_counts_as_if_it_had_ended() -> None:
    log = log_of(Job("a", 0, 100), Job("b", 10, 50))
    recording = read(log, "default", until=NOON + timedelta(seconds=120))
    assert recording.unfinished == 1
    assert {work.id: work.service_s for work in recording.works} == {"a/1": 100.0, "b/1": 0.0}


def test_an_empty_log_is_no_workload() -> None:
    recording = read([], "default")
    outcome = whatif(recording.works, recording.changes, policy())
    assert measure(outcome).waiting.count == 0
    assert measure(outcome).utilisation == 0


def test_utilisation_is_what_was_served_of_what_was_there() -> None:
    recording = read(log_of(Job("a", 0, 100), Job("b", 0.5, 50), on=[("a1", 2)]), "default")
    assert measure(recording.recorded).utilisation == pytest.approx(150 / 200)


@pytest.mark.parametrize(("values", "index"), [([1, 1, 1], 1.0), ([1, 0, 0, 0], 0.25), ([], 1.0), ([0, 0], 1.0)])
def test_fairness_is_one_when_all_fared_alike_and_a_share_when_one_had_everything(
    values: list[int], index: float
) -> None:
    assert jain(values) == pytest.approx(index)


def test_a_percentile_is_a_value_that_occurred() -> None:
    hundred = [float(n) for n in range(1, 101)]
    assert (percentile(hundred, 0.95), percentile(hundred, 0.5), percentile([7.0], 0.95)) == (95, 50, 7)
    assert percentile([], 0.5) == 0
