"""Whatever is asked of a task and reported about it, in whatever order: what is decided can be folded."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from resolute.proto.errors import ResoluteError
from resolute.proto.interactive import CreateTask, KillTask, MarkTaskReady, SetTaskPriority, TaskEnded
from resolute.proto.pool import AllocationExited, AllocationStarted, JobMoved
from resolute.proto.states import AllocationOutcome
from resolute.tasks.task import Input, NoticeIdle, State, Task, decide, evolve

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
ALLOCATIONS = st.sampled_from((f"{ID}.1", f"{ID}.2"))
PRIORITIES = st.sampled_from((0, 1, 42, 99, 100))
OUTCOMES = st.sampled_from(AllocationOutcome).map(str)
CODES = st.none() | st.integers(0, 255)
CREATE = st.builds(
    CreateTask,
    kind=st.sampled_from(("COMMAND", "OTHER")),
    name=st.just("Command (drawn)"),
    config=st.just({"entrypoint": ["true"]}),
    owner_id=st.just(1),
    owner=st.just("ann"),
    workspace_id=st.just(1),
    pool=st.just("default"),
    slots=st.integers(-1, 2),
    priority=st.none() | PRIORITIES,
    weight=st.just(1.0),
)
INPUTS: st.SearchStrategy[Input] = st.one_of(
    CREATE,
    st.builds(KillTask, st.just(ID), st.just("asked")),
    st.builds(SetTaskPriority, st.just(ID), PRIORITIES),
    st.builds(NoticeIdle, ALLOCATIONS, st.just(60.0), st.just(30.0)),
    st.builds(MarkTaskReady, st.just(ID), ALLOCATIONS),
    st.builds(AllocationStarted, ALLOCATIONS),
    st.builds(AllocationExited, ALLOCATIONS, OUTCOMES, CODES, st.just("over"), st.just(ID), st.none(), st.none()),
    st.builds(JobMoved, st.just(ID), st.just("other"), st.just("ahead"), st.just("1"), st.integers(1, 99)),
)


@given(st.lists(INPUTS, max_size=40))
@settings(max_examples=500, deadline=None)
def test_what_is_decided_about_a_task_can_be_folded_and_it_ends_at_most_once(inputs: Sequence[Input]) -> None:
    task, ends = Task(), 0
    for wish in inputs:
        try:
            events = decide(wish, task, ID)
        except ResoluteError:
            continue
        for event in events:
            task = evolve(task, event)
            ends += isinstance(event, TaskEnded)
    assert ends == (task.state is State.TERMINATED)
