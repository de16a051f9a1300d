"""The what-if of what was: a log played against its own policy tells the same story again."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given, settings

from resolute.config.pools import ResourcePool, Scheduler
from resolute.proto.queue import PolicyName
from resolute.scheduling.policies import policy_for
from resolute.whatif.pools import measure, read, whatif
from tests.unit.scheduler.recorded import Cluster, Job

AGENTS = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@st.composite
def workloads(draw: st.DrawFn) -> list[Job]:
    """No two things happen at one instant: whichever came first then would not be recorded."""
    size = draw(st.integers(1, 14))
    jobs: list[Job] = []
    for number in range(size):
        after = draw(st.sampled_from(["", "", *(job.name for job in jobs)]))
        jobs.append(
            Job(
                f"j{number}",
                draw(st.integers(0, 60)) + 0.001 * number,
                draw(st.integers(1, 90)) + 0.01 * 2**-number,
                draw(st.sampled_from([1, 1, 1, 2, 4, 8])),
                draw(st.sampled_from([1, 42, 42, 50])),
                after,
            )
        )
    return jobs


POLICIES = st.sampled_from(
    [Scheduler(type=PolicyName.FIFO), Scheduler(), Scheduler(preemption=True), Scheduler(type=PolicyName.FAIR_SHARE)],
)


@given(AGENTS, workloads(), POLICIES)
@settings(max_examples=150, deadline=None)
def test_a_log_played_against_its_own_policy_starts_everything_in_the_recorded_order(
    sizes: list[int], jobs: list[Job], scheduler: Scheduler
) -> None:
    policy = policy_for(ResourcePool(scheduler=scheduler))
    cluster = Cluster(policy)
    log = cluster.play([(f"a{n}", size) for n, size in enumerate(sizes)], jobs)
    recording = read(log, "default")
    again = whatif(recording.works, recording.changes, policy, yield_s=recording.yield_s)
    assert [work.partition("/")[0] for work in again.starts] == cluster.starts
    assert again.starts == recording.recorded.starts
    simulated, recorded = measure(again), measure(recording.recorded)
    assert simulated.preemptions == recorded.preemptions
    assert abs(simulated.waiting.mean_s - recorded.waiting.mean_s) < 0.001
    assert abs(simulated.makespan_s - recorded.makespan_s) < 0.001


@given(workloads())
@settings(max_examples=50, deadline=None)
def test_nothing_is_lost_on_the_way_whatever_the_policy(jobs: list[Job]) -> None:
    cluster = Cluster(policy_for(ResourcePool(scheduler=Scheduler(type=PolicyName.PRIORITY, preemption=True))))
    recording = read(cluster.play([("a1", 4), ("a2", 4)], jobs), "default")
    outcome = whatif(
        recording.works, recording.changes, policy_for(ResourcePool(scheduler=Scheduler(type=PolicyName.FIFO)))
    )
    for ran, work in zip(outcome.ran, recording.works, strict=True):
        assert ran.id == work.id
        assert ran.end_s is not None
        assert abs(ran.served_s - work.service_s) < 0.001
