"""The priority of an experiment stands in its configuration and in its pool's queue. People change the first by an edit
and the second by a move, at once and in any order, and each service follows the other from the log: in the end both say
the same.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from resolute.proto.experiment import EditExperiment, ExperimentEdited, TrialRunRequested
from resolute.proto.message import Event
from resolute.proto.pool import ChangeJob, JobMoved, MoveJob, RequestAllocation
from resolute.scheduling.decisions import PoolInput
from resolute.search.decide import Notification, decide
from resolute.search.experiment import Experiment, evolve
from resolute.searcher.reactions import react
from tests.unit.scheduler.stories import PoolStory, asks
from tests.unit.searcher.story import EXPERIMENT, created, fold

patiently = settings(deadline=None)  # a busy machine is no counterexample
NEIGHBOURS = ("n0", "n1", "n2")
STEPS = st.one_of(
    st.tuples(st.just("edit"), st.integers(1, 5)),
    st.tuples(st.just("move ahead"), st.integers(0, 2)),
    st.tuples(st.just("move behind"), st.integers(0, 2)),
    st.tuples(st.just("follow"), st.integers(1, 3)),
)


@dataclass
class Cluster:
    """The log, with both services, and the searcher's follower, which is somewhere behind the newest event."""

    experiment: Experiment
    pool: PoolStory
    log: list[Event]
    followed: int = 0
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(100))

    def decide(self, message: EditExperiment | Notification) -> None:
        events = decide(message, self.experiment, self.ids)
        for event in events:
            self.experiment = evolve(self.experiment, event)
        self.log += events

    def ask(self, command: PoolInput) -> None:
        self.log += self.pool.when(command).latest

    def follow(self) -> bool:
        """One event further. Whether there was one."""
        if self.followed == len(self.log):
            return False
        event = self.log[self.followed]
        self.followed += 1
        if isinstance(event, JobMoved) and event.experiment_id is not None:
            self.decide(event)
        elif isinstance(event, ExperimentEdited | TrialRunRequested):
            ask = react(event, self.experiment)
            if ask is not None:
                assert isinstance(ask.command, RequestAllocation | ChangeJob)
                self.ask(ask.command)
        return True

    @property
    def priorities(self) -> tuple[int | None, int]:
        """Of the configuration, and of the queue."""
        return self.experiment.config["resources"].get("priority"), self.pool.pool.jobs[self.experiment.job_id].priority


def cluster() -> Cluster:
    """An experiment whose trial waits in a pool without agents, among neighbours of other priorities."""
    pool = PoolStory().given(*(asks(f"t-{job}", job=job, priority=n + 1) for n, job in enumerate(NEIGHBOURS)))
    events = created()
    made = Cluster(fold(events), pool, [*events])
    while made.follow():
        pass
    return made


@patiently
@given(st.lists(STEPS, max_size=12))
def test_whatever_people_change_at_once_the_queue_and_the_configuration_say_the_same_in_the_end(
    steps: list[tuple[str, int]],
) -> None:
    made = cluster()
    for what, number in steps:
        match what:
            case "edit":
                made.decide(EditExperiment(EXPERIMENT, {"priority": number}))
            case "move ahead":
                made.ask(MoveJob("default", made.experiment.job_id, ahead_of=NEIGHBOURS[number]))
            case "move behind":
                made.ask(MoveJob("default", made.experiment.job_id, behind_of=NEIGHBOURS[number]))
            case "follow":
                for _ in range(number):
                    made.follow()
    for _ in range(1_000):
        if not made.follow():
            break
    assert made.followed == len(made.log), "the services go on answering one another"
    configured, queued = made.priorities
    if configured is None:  # nobody changed it: the queue goes by the pool's default
        assert not any(isinstance(event, ExperimentEdited | JobMoved) for event in made.log)
    else:
        assert configured == queued


def test_a_job_that_is_moved_adopts_the_priority_of_its_neighbour_in_its_configuration_too() -> None:
    made = cluster()
    made.ask(MoveJob("default", made.experiment.job_id, behind_of="n1"))
    while made.follow():
        pass
    assert made.priorities == (2, 2)
    before = len(made.log)
    made.ask(MoveJob("default", made.experiment.job_id, behind_of="n1"))
    made.follow()
    assert len(made.log) == before, "it stands there already"


def test_a_priority_that_was_set_after_a_move_is_not_undone_when_the_move_is_handled_late_or_again() -> None:
    made = cluster()
    made.decide(EditExperiment(EXPERIMENT, {"priority": 1}))
    while made.follow():
        pass
    made.ask(MoveJob("default", made.experiment.job_id, behind_of="n1"))
    made.decide(EditExperiment(EXPERIMENT, {"priority": 5}))
    while made.follow():
        pass
    assert made.priorities == (5, 5)
    [moved] = (event for event in made.log if isinstance(event, JobMoved))
    made.decide(moved)
    while made.follow():
        pass
    assert made.priorities == (5, 5)
