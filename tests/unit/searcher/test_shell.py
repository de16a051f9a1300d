"""The searcher's shell over a log and a bus in memory: repeats, replicas, ids, refusals of others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from resolute import codec
from resolute.bus import MemoryBus
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import Failed, InvalidConfig, NotFound, Refused
from resolute.proto.experiment import (
    AddLabel,
    ConfirmDeleted,
    DeleteExperiment,
    DescribeRun,
    EditExperiment,
    ExperimentDeleted,
    ExperimentDeletionFailed,
    ExperimentEdited,
    ExperimentEnded,
    KillExperiment,
    PauseExperiment,
    RemoveLabel,
    TrialCreated,
    TrialRunRequested,
)
from resolute.proto.message import Cause, Command, Event, Reply
from resolute.proto.owners import SEARCHER
from resolute.proto.pool import (
    AllocationExited,
    ChangeJob,
    JobMoved,
    KillAllocation,
    PreemptAllocation,
    RequestAllocation,
    reference_in,
)
from resolute.proto.tasks import DescribeTask, TaskDescription
from resolute.searcher.shell import Searcher, serve
from resolute.service import Context
from tests.unit.searcher.story import config, submission


class House:
    """A searcher, or several, with a scheduler and a checkpoint store that only note what they are asked."""

    def __init__(self) -> None:
        self.log, self.bus = MemoryEventLog(), MemoryBus()
        self.asked: list[Command] = []
        self.answer: Callable[[Command], None] = lambda command: None
        self._causes: set[str] = set()

    async def note(self, command: Command, cause: Cause) -> Reply:
        if cause.id not in self._causes:
            self._causes.add(cause.id)
            self.asked.append(command)
        self.answer(command)
        return Reply()

    async def ask(self, command: Command, cause: str) -> Reply:
        return await self.bus.request(command, Cause(cause))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Until it `holds`, looked at after every event."""
        async with asyncio.timeout(60):
            while not holds():
                await self.log.wait_beyond(await self.log.head(), 0.01)

    def events(self, kind: type[Event]) -> list[Any]:
        return [recorded.event for recorded in self.log._all if isinstance(recorded.event, kind)]

    async def relay(self) -> None:
        position = 0
        while True:
            await self.log.wait_beyond(position, 60)
            for recorded in await self.log.read_all(position):
                await self.bus.publish_fact(recorded)
                position = recorded.position


@asynccontextmanager
async def a_house(searchers: int = 1) -> AsyncIterator[House]:
    house = House()
    await house.bus.serve("scheduler", house.note)
    await house.bus.serve("checkpoint", house.note)
    ready: list[str] = []
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(house.relay())]
        for _ in range(searchers):
            tasks.append(group.create_task(serve(Context(house.log, house.bus, on_ready=ready.append))))
        await house.until(lambda: len(ready) == searchers)
        yield house
        for task in tasks:
            task.cancel()


async def test_a_submission_that_arrives_twice_is_one_experiment() -> None:
    async with a_house() as house:
        first, second = [await house.ask(submission(config("random")), "cmd-1") for _ in range(2)]
        assert first == second
        assert first.data["experiment_id"] == 1
        other = await house.ask(submission(config()), "cmd-2")
        assert other.data["experiment_id"] == 2
        assert other.data["job_id"] != first.data["job_id"]


async def test_submissions_that_arrive_at_once_are_numbered_without_gaps() -> None:
    async with a_house(searchers=2) as house:
        commands = [
            house.ask(submission(config("random", max_trials=5, max_concurrent_trials=5)), f"c{n}") for n in range(20)
        ]
        replies = await asyncio.gather(*commands)
        assert sorted(reply.data["experiment_id"] for reply in replies) == list(range(1, 21))
        assert sorted(event.trial_id for event in house.events(TrialCreated)) == list(range(1, 101))


async def test_labels_that_are_changed_at_once_by_two_searchers_are_all_changed() -> None:
    async with a_house(searchers=2) as house:
        await house.ask(submission(config()), "cmd-1")
        await house.ask(EditExperiment(1, {"labels": [f"old-{n}" for n in range(10)]}), "cmd-2")
        changes = [AddLabel(1, f"new-{n}") for n in range(10)] + [RemoveLabel(1, f"old-{n}") for n in range(10)]
        replies = await asyncio.gather(*(house.ask(change, f"change-{n}") for n, change in enumerate(changes)))
        assert house.events(ExperimentEdited)[-1].changes == {"labels": [f"new-{n}" for n in range(10)]}
        for change, reply in zip(changes, replies, strict=True):
            assert (change.label in reply.data["labels"]) == isinstance(change, AddLabel)


async def test_a_label_that_is_added_again_under_the_same_cause_is_answered_as_the_first_time() -> None:
    async with a_house() as house:
        await house.ask(submission(config()), "cmd-1")
        first = await house.ask(AddLabel(1, "b"), "cmd-2")
        await house.ask(AddLabel(1, "a"), "cmd-3")
        assert (await house.ask(AddLabel(1, "b"), "cmd-2")) == first
        assert (await house.ask(AddLabel(1, "b"), "cmd-4")).data["labels"] == ["a", "b"]  # nothing to change
        assert len(house.events(ExperimentEdited)) == 2


async def test_a_refused_submission_takes_no_number() -> None:
    async with a_house() as house:
        with pytest.raises(InvalidConfig, match=r"searcher\.name"):
            await house.ask(submission(config("magic")), "cmd-1")
        assert (await house.ask(submission(config()), "cmd-2")).data["experiment_id"] == 1


async def test_every_run_is_asked_of_the_scheduler_once_however_many_searchers_hear_of_it() -> None:
    async with a_house(searchers=2) as house:
        await house.ask(submission(config("random")), "cmd-1")
        await house.until(lambda: len(house.asked) == 2)
        asked = house.asked[0]
        assert isinstance(asked, RequestAllocation)
        assert (asked.pool, asked.slots, asked.experiment_id, asked.trial_id) == ("default", 1, 1, 1)
        await house.ask(KillExperiment(1), "cmd-2")
        await house.until(lambda: len(house.asked) == 4)
        assert {type(command) for command in house.asked[2:]} == {KillAllocation}


async def test_an_exit_told_by_the_scheduler_goes_into_the_story() -> None:
    async with a_house() as house:
        await house.ask(submission(config()), "cmd-1")
        (run,) = house.events(TrialRunRequested)
        task = run.allocation_id.rpartition(".")[0]
        exit_ = AllocationExited(run.allocation_id, "exited", 0, "", task, 1, 1)
        await house.log.append("pool-default", [exit_], expected_version=0, cause=Cause("x"))
        await house.until(lambda: bool(house.events(ExperimentEnded)))
        assert house.events(ExperimentEnded)[0].outcome == "COMPLETED"


async def test_a_scheduler_that_refuses_a_run_fails_the_trial_with_its_words() -> None:
    def refuse(command: Command) -> None:
        raise NotFound("no pool 'attic'; there are default")

    async with a_house() as house:
        house.answer = refuse
        await house.ask(submission(config()), "cmd-1")
        await house.until(lambda: bool(house.events(ExperimentEnded)))
        assert house.events(ExperimentEnded)[0].outcome == "ERROR"
        assert "no pool 'attic'" in house.events(ExperimentEnded)[0].reason


async def test_a_scheduler_that_fails_over_a_run_is_asked_again() -> None:
    asked: list[Command] = []

    def fail_once(command: Command) -> None:
        asked.append(command)
        if len(asked) == 1:
            raise Failed("a bug of the scheduler's")

    async with a_house() as house:
        house.answer = fail_once
        await house.ask(submission(config()), "cmd-1")
        await house.until(lambda: len(asked) == 2)
        assert house.events(ExperimentEnded) == []


async def test_a_run_is_described_as_it_stands_and_refused_once_it_is_over() -> None:
    async with a_house() as house:
        await house.ask(submission(config(environment={"environment_variables": {"cpu": ["A=1", "B"]}})), "cmd-1")
        (run,) = house.events(TrialRunRequested)
        spec = (await house.ask(DescribeRun(1, 1, run.allocation_id), "q-1")).data
        assert spec["run_id"] == 1
        assert spec["environment"] == {"A": "1", "B": ""}
        assert spec["hparams"]["global_batch_size"] == 32
        with pytest.raises(Refused, match="it is over"):
            await house.ask(DescribeRun(1, 1, "another"), "q-2")


async def test_the_searcher_answers_for_the_allocations_that_it_asked_for() -> None:
    async with a_house() as house:

        async def ask(question: DescribeTask) -> TaskDescription:
            return await house.bus.ask(SEARCHER.subject, question, TaskDescription)

        await house.ask(submission(config(environment={"image": "an-image"})), "cmd-1")
        await house.until(lambda: bool(house.asked))
        (request,) = house.asked
        assert isinstance(request, RequestAllocation)
        assert request.task_owner == SEARCHER.service == "searcher"
        question = DescribeTask(request.allocation_id, request.task_id, **reference_in(request))
        former = (await house.ask(DescribeRun(1, 1, request.allocation_id), "q-1")).data
        spec = (await ask(question)).spec
        assert spec is not None
        assert codec.dump(spec) == former, "a scheduler of the last release is given the same"
        assert spec.needs is not None
        assert spec.needs.images["cpu"] == "an-image"
        assert (await ask(replace(question, allocation_id="another"))).refusal.endswith("it is over; trial is ACTIVE")
        assert "99" in (await ask(replace(question, trial_id=99))).refusal
        assert (await ask(replace(question, experiment_id=99))).spec is None
        assert (await ask(replace(question, trial_id=None))).refusal.endswith("belongs to no trial")


async def test_a_queue_setting_that_is_edited_is_told_to_the_scheduler() -> None:
    async with a_house() as house:
        await house.ask(submission(config()), "cmd-1")
        await house.ask(EditExperiment(1, {"priority": 1, "notes": "hurry"}), "cmd-2")
        await house.until(lambda: len(house.asked) == 2)
        assert getattr(house.asked[1], "changes", None) == {"priority": 1}


async def test_a_job_that_was_moved_has_the_priority_of_its_neighbour_in_its_configuration_too() -> None:
    async with a_house() as house:
        await house.ask(submission(config()), "cmd-1")
        stated = JobMoved("job", "neighbour", "ahead", "0.5", 7, experiment_id=1)
        moves = [JobMoved("of-an-earlier-release", "neighbour", "ahead", "0.5", 3), stated, stated]
        await house.log.append("pool-default", moves, expected_version=0, cause=Cause("req-1/update-0", actor="ada"))
        await house.until(lambda: len(house.asked) == 2)
        (edited,) = [recorded for recorded in house.log._all if isinstance(recorded.event, ExperimentEdited)]
        assert edited.event == ExperimentEdited({"priority": 7})
        assert edited.cause.actor == "ada"
        assert getattr(house.asked[1], "changes", None) == {"priority": 7}, "the pool finds nothing to change"


async def test_an_edit_that_is_told_again_does_not_undo_a_later_one() -> None:
    async with a_house() as house:
        await house.ask(submission(config()), "cmd-1")
        await house.ask(EditExperiment(1, {"priority": 1}), "cmd-2")
        await house.ask(EditExperiment(1, {"priority": 2}), "cmd-3")
        await house.until(lambda: len(house.asked) == 3)
        (first, _) = [recorded for recorded in house.log._all if isinstance(recorded.event, ExperimentEdited)]
        house._causes.clear()  # the first was there already when it was asked for: no trace of it was kept
        await Searcher(Context(house.log, house.bus)).react(first)
        assert getattr(house.asked[3], "changes", None) == {"priority": 2}


async def test_a_run_is_stopped_in_the_pool_it_is_in_though_later_ones_go_elsewhere() -> None:
    async with a_house() as house:
        await house.ask(submission(config()), "cmd-1")
        await house.ask(EditExperiment(1, {"resource_pool": "attic"}), "cmd-2")
        await house.ask(KillExperiment(1), "cmd-3")
        await house.until(lambda: len(house.asked) == 4)
        assert [type(asked) for asked in house.asked[1:]] == [ChangeJob, PreemptAllocation, KillAllocation]
        assert [getattr(asked, "pool", "") for asked in house.asked[1:]] == ["attic", "default", "default"]


async def test_a_run_that_the_scheduler_does_not_know_cannot_keep_its_trial_from_ending() -> None:
    def forget(command: Command) -> None:
        if isinstance(command, KillAllocation):
            raise NotFound(f"no allocation {command.allocation_id}")

    async with a_house() as house:
        house.answer = forget
        await house.ask(submission(config()), "cmd-1")
        await house.ask(KillExperiment(1), "cmd-2")
        await house.until(lambda: bool(house.events(ExperimentEnded)))
        assert house.events(ExperimentEnded)[0].outcome == "CANCELED"


async def test_files_that_stay_leave_a_deletion_failed_with_the_reason() -> None:
    def refuse(command: Command) -> None:
        raise Refused("cannot delete the files of experiment 1: the disk is read-only")

    async with a_house() as house:
        await house.ask(submission(config(), activate=False), "cmd-1")
        await house.ask(KillExperiment(1), "cmd-2")
        house.answer = refuse
        await house.ask(DeleteExperiment(1), "cmd-3")
        await house.until(lambda: bool(house.events(ExperimentDeletionFailed)))
        assert "read-only" in house.events(ExperimentDeletionFailed)[0].reason
        house.answer = lambda command: None
        await house.ask(DeleteExperiment(1), "cmd-4")
        await house.until(lambda: bool(house.events(ExperimentDeleted)))


async def test_deleting_asks_for_the_files_first() -> None:
    async with a_house() as house:
        await house.ask(submission(config(), activate=False), "cmd-1")
        await house.ask(KillExperiment(1), "cmd-2")
        await house.ask(DeleteExperiment(1), "cmd-3")
        await house.ask(ConfirmDeleted(1), "cmd-4")
        await house.until(lambda: bool(house.events(ExperimentDeleted)))
        with pytest.raises(NotFound, match="no experiment 1"):
            await house.ask(PauseExperiment(1), "cmd-5")
