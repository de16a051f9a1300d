"""The life of a task that is no trial: given these events, when this is asked, then these follow."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import pytest

from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.interactive import (
    CreateTask,
    KillTask,
    MarkTaskReady,
    SetTaskPriority,
    TaskCreated,
    TaskEnded,
    TaskIdleNoticed,
    TaskKillRequested,
    TaskPriorityChanged,
    TaskReady,
    TaskStarted,
)
from resolute.proto.message import Event
from resolute.proto.pool import AllocationExited, AllocationStarted, JobMoved
from resolute.tasks import task
from resolute.tasks.reactions import concerned, describe, task_of
from resolute.tasks.task import Input, Task, decide

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
ALLOCATION = f"{ID}.1"
ASKED = CreateTask(
    kind="COMMAND",
    name="Command (a-test)",
    config={"entrypoint": ["echo hello"], "environment": {"environment_variables": {"cpu": ["A=1"]}}},
    owner_id=2,
    owner="ann",
    workspace_id=1,
    pool="default",
    slots=0,
    priority=None,
    weight=1.0,
)
[_created] = decide(ASKED, Task(), ID)
assert isinstance(_created, TaskCreated)
CREATED = _created
EXITED = AllocationExited(ALLOCATION, "exited", 3, "the program ended", ID, None, None)
ENDED = TaskEnded("exited", 3, "the program ended")
KILL = KillTask(ID, "ann killed it")
STOPPING = TaskKillRequested("ann killed it")


def after(*events: Event) -> Task:
    return reduce(task.evolve, events, Task())


def then(wish: Input, *before: Event) -> list[Event]:
    return decide(wish, after(*before), ID)


def test_a_task_has_one_allocation_and_a_request_that_comes_again_makes_no_second() -> None:
    assert CREATED.allocation_id == ALLOCATION
    assert then(ASKED, CREATED) == []


def test_it_runs_when_its_allocation_does_and_ends_with_it() -> None:
    assert then(AllocationStarted(ALLOCATION), CREATED) == [TaskStarted()]
    assert then(AllocationStarted(ALLOCATION), CREATED, TaskStarted()) == []
    assert then(EXITED, CREATED, TaskStarted()) == [ENDED]
    assert then(EXITED, CREATED, TaskStarted(), ENDED) == [], "a report that comes twice"


def test_it_is_ready_once_for_what_its_own_allocation_says() -> None:
    ready = MarkTaskReady(ID, ALLOCATION)
    assert then(ready, CREATED, TaskStarted()) == [TaskReady()]
    assert then(ready, CREATED) == [TaskReady()], "the report may overtake the one that it has started"
    assert then(AllocationStarted(ALLOCATION), CREATED, TaskReady()) == [TaskStarted()]
    assert then(ready, CREATED, TaskStarted(), TaskReady()) == []
    assert then(MarkTaskReady(ID, f"{ID}.2"), CREATED, TaskStarted()) == []
    assert then(ready, CREATED, STOPPING) == []
    with pytest.raises(NotFound):
        then(ready)


def test_it_is_noticed_that_nobody_uses_it_only_while_it_is_there() -> None:
    notice = task.NoticeIdle(ALLOCATION, 60, 30)
    assert then(notice, CREATED, TaskStarted(), TaskReady()) == [TaskIdleNoticed(ALLOCATION, 60, 30)]
    assert then(notice, CREATED, STOPPING) == []
    assert then(replace(notice, allocation_id=f"{ID}.2"), CREATED) == []
    with pytest.raises(InvalidConfig, match="idle_timeout"):
        then(replace(ASKED, idle_timeout_s=0.0))


def test_it_may_end_without_having_run() -> None:
    refused = replace(EXITED, outcome="refused", exit_code=None, reason="no such pool")
    assert then(refused, CREATED) == [TaskEnded("refused", None, "no such pool")]


@pytest.mark.parametrize("fact", [AllocationStarted(f"{ID}.2"), replace(EXITED, allocation_id=f"{ID}.2")])
def test_a_fact_about_another_allocation_has_no_effect(fact: Input) -> None:
    assert then(fact, CREATED) == []
    assert then(fact) == []


def test_it_is_killed_once_and_ends_when_its_allocation_has() -> None:
    assert then(KILL, CREATED) == [STOPPING]
    assert then(KILL, CREATED, TaskStarted()) == [STOPPING]
    assert then(KILL, CREATED, STOPPING) == []
    assert then(KILL, CREATED, ENDED) == []
    assert then(AllocationStarted(ALLOCATION), CREATED, STOPPING) == [], "it may have begun before the kill arrived"
    assert then(EXITED, CREATED, STOPPING) == [ENDED]


def test_its_priority_changes_while_nobody_has_asked_it_to_end() -> None:
    assert then(SetTaskPriority(ID, 7), CREATED) == [TaskPriorityChanged(7)]
    assert then(SetTaskPriority(ID, 7), CREATED, TaskStarted(), TaskPriorityChanged(7)) == []
    with pytest.raises(Refused, match="it is STOPPING"):
        then(SetTaskPriority(ID, 7), CREATED, STOPPING)
    with pytest.raises(InvalidConfig, match=r"^priority: "):
        then(SetTaskPriority(ID, 0), CREATED)


def test_a_job_that_is_moved_gives_its_task_the_priority_of_its_new_place() -> None:
    moved = JobMoved(ID, "other", "ahead", "0.5", 9)
    assert then(moved, CREATED) == [TaskPriorityChanged(9)]
    assert then(moved, CREATED, TaskPriorityChanged(9)) == []
    assert then(moved, CREATED, ENDED) == []


def test_what_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(InvalidConfig, match=r"^kind: .*COMMAND, .*; found 'TRIAL'"):
        then(replace(ASKED, kind="TRIAL"))
    with pytest.raises(InvalidConfig, match=r"^resources\.slots: "):
        then(replace(ASKED, slots=-1))
    with pytest.raises(InvalidConfig, match=r"^resources\.priority: "):
        then(replace(ASKED, priority=1000))
    with pytest.raises(NotFound, match=ID):
        then(KILL)


def test_only_allocations_and_jobs_of_tasks_concern_the_service() -> None:
    assert task_of(ALLOCATION) == ID
    assert task_of(f"7.{ID}.1") is None, "a trial's"
    assert concerned(EXITED) == ID
    assert concerned(JobMoved(ID, "other", "ahead", "0.5", 9)) == ID
    assert concerned(JobMoved(ID, "other", "ahead", "0.5", 9, experiment_id=3)) is None


def test_one_word_is_a_line_for_the_shell_and_several_are_a_program_with_its_arguments() -> None:
    spec = describe(after(CREATED), ALLOCATION)
    assert (spec.task_type, spec.trial_id, spec.environment) == ("COMMAND", None, {"A": "1"})
    assert spec.config["entrypoint"] == ["/bin/sh", "-c", "echo hello"]
    several = replace(CREATED, config={"entrypoint": ["echo", "a b"]})
    assert describe(after(several), ALLOCATION).config["entrypoint"] == ["echo", "a b"]


@pytest.mark.parametrize("before", [(), (CREATED, STOPPING), (CREATED, ENDED)])
def test_nothing_runs_for_a_task_that_shall_not(before: tuple[Event, ...]) -> None:
    with pytest.raises(Refused, match=ALLOCATION):
        describe(after(*before), ALLOCATION)
