"""The shell of the searcher: it handles commands and facts, appends decisions, and sends requests to other services."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from resolute import codec
from resolute.eventlog import Appended
from resolute.proto import streams
from resolute.proto.checkpoint import (
    CheckpointClaimed,
    CheckpointCompleted,
    CheckpointDeleted,
    CheckpointDeletionRequested,
    CheckpointFilesRemoved,
)
from resolute.proto.errors import Failed, NotFound, Refused, ResoluteError, Unavailable, WrongVersion
from resolute.proto.experiment import (
    AddLabel,
    ContinueExperiment,
    CreateExperiment,
    CreateUnmanagedTrial,
    DescribeRun,
    ExperimentContinued,
    ExperimentCreated,
    ExperimentDeletionRequested,
    ExperimentEdited,
    ExperimentNumbered,
    PreviewSearch,
    RemoveLabel,
    ReportValidation,
    SearcherCommand,
    StartUnmanagedTrial,
    TrialRunRequested,
    TrialStopRequested,
    TrialTargetSet,
)
from resolute.proto.message import Cause, Command, Event, Recorded, Reply
from resolute.proto.owners import SEARCHER
from resolute.proto.pool import AllocationExited, AllocationStarted, JobMoved
from resolute.proto.states import AllocationOutcome, ExperimentState
from resolute.proto.tasks import DescribeTask, TaskDescription
from resolute.search import continuing, derive, reports, unmanaged, user_commands
from resolute.search.decide import Notification, decide
from resolute.search.experiment import Experiment, evolve
from resolute.search.methods import method_for
from resolute.search.reports import CloseTrial, CoverTarget
from resolute.search.settings import Settings
from resolute.searcher.ids import Draw, NeedIds
from resolute.searcher.partitions import TaskPartitions
from resolute.searcher.reactions import concerns_no_other_service, describe, react
from resolute.service import Aggregates, Context, Follower, Question, Reactions, Snapshots, serve_commands
from resolute.whatif.searches.preview import preview

NAME = "searcher"

ATTEMPTS = 10
"""How often taking an external id is tried, when several clients ask for the same one at once."""


async def serve(context: Context) -> None:
    """Serve until cancelled. Replicas may run beside this one: the log's expected versions keep them in agreement."""
    searcher = Searcher(context)
    described = Question(SEARCHER.subject, DescribeTask, searcher.describe, lambda question: question.allocation_id)
    subscription = await serve_commands(context, NAME, searcher.handle, questions=(described,))
    # A consumer of its own: removing the files of a big experiment takes long, and must not hold up other reactions.
    following = (
        Reactions(NAME, context.log, searcher.react, TaskPartitions(), attempt_lock=context.attempt_lock),
        Reactions(f"{NAME}-deletions", context.log, searcher.delete, attempt_lock=context.attempt_lock),
    )
    try:
        async with asyncio.TaskGroup() as tasks:
            for reactions in following:
                tasks.create_task(Follower(reactions, context.log, context.bus).run())
            context.on_ready(NAME)
    finally:
        await subscription.close()


class Searcher:
    """Decides about experiments and trials. Shares their streams with its replicas; the expected versions of appends
    keep the replicas in agreement."""

    def __init__(self, context: Context) -> None:
        self._log, self._bus = context.log, context.bus
        self._experiments = Aggregates(
            context.log, Experiment, evolve, snapshots=Snapshots(context.log, context.secret, "resolute.search")
        )
        self._stock: list[int] = []

    async def handle(self, command: Command, cause: Cause) -> Reply:
        match command:
            case CreateExperiment():
                return await self._create(command, cause)
            case ContinueExperiment():
                return await self._continue(command, cause)
            case DescribeRun():
                experiment = await self._experiments.state(_stream(command.experiment_id))
                return Reply(data=codec.dump(describe(experiment, command.trial_id, command.allocation_id)))
            case PreviewSearch():  # plays the whole search, in a thread so that other requests are served
                return Reply(data=await asyncio.to_thread(preview, command.config, command.seed))
        experiment_id = getattr(command, "experiment_id", None)
        if not isinstance(command, SearcherCommand) or experiment_id is None:
            raise NotFound(f"the searcher does not decide {type(command).__name__}")
        outcome = await self._execute(experiment_id, _deciding(command), cause)
        if isinstance(command, ReportValidation):
            # The state was just folded and is in memory, unless the stream was dropped from memory meanwhile.
            experiment = await self._experiments.state(_stream(experiment_id), at_least=1)
            return Reply(outcome.position, codec.dump(reports.taken(experiment, command)))
        if isinstance(command, AddLabel | RemoveLabel):
            return Reply(outcome.position, {"labels": await self._labels(experiment_id, outcome)})
        if isinstance(command, CreateUnmanagedTrial | StartUnmanagedTrial):
            experiment = await self._experiments.state(_stream(experiment_id), at_least=1)
            return Reply(outcome.position, _trial_of(command, experiment))
        return Reply(position=outcome.position)

    async def _labels(self, experiment_id: int, outcome: Appended) -> list[str]:
        """The labels after a command that changed them; the same answer when the command is repeated."""
        if outcome.events and isinstance(edited := outcome.events[0].event, ExperimentEdited):
            return list(edited.changes["labels"])
        return (await self._experiments.state(_stream(experiment_id), at_least=1)).labels

    async def describe(self, question: DescribeTask) -> TaskDescription:
        """What to run in an allocation of a trial, or why there is nothing to run."""
        if question.experiment_id is None or question.trial_id is None:
            return TaskDescription(refusal=f"task {question.task_id} belongs to no trial")
        experiment = await self._experiments.state(_stream(question.experiment_id))
        try:
            return TaskDescription(describe(experiment, question.trial_id, question.allocation_id))
        except (NotFound, Refused) as error:
            return TaskDescription(refusal=error.message)

    async def react(self, recorded: Recorded) -> None:
        """Handles one event: a report about a trial, or an event of an experiment that other services need to know."""
        event, cause = recorded.event, recorded.cause_of_reactions
        match event:
            case AllocationStarted(allocation_id=allocation):
                await self._note(derive.experiment_of(allocation), event, cause)
            case AllocationExited(experiment_id=experiment_id, trial_id=int()):
                await self._note(experiment_id, event, cause)
            case JobMoved(experiment_id=experiment_id):
                await self._note(experiment_id, event, cause)
            case CheckpointCompleted(experiment_id=experiment_id):
                await self._note(experiment_id, event, cause)
            case CheckpointDeletionRequested() | CheckpointFilesRemoved():
                await self._note(_id_of(recorded), event, cause)
            case TrialStopRequested(allocation_id="", trial_id=trial_id):
                await self._note(_id_of(recorded), CloseTrial(trial_id), cause)
            case TrialTargetSet(trial_id=trial_id, length=length):
                await self._cover(recorded, trial_id, length, cause)
            case TrialRunRequested() | TrialStopRequested() | ExperimentEdited() | ExperimentContinued():
                await self._ask_scheduler(recorded, cause)

    async def delete(self, recorded: Recorded) -> None:
        """Handles one event: after ExperimentDeletionRequested, asks the checkpoint store to remove the files, and
        records the outcome. That may take minutes."""
        if not isinstance(recorded.event, ExperimentDeletionRequested):
            return
        experiment_id, cause = _id_of(recorded), recorded.cause_of_reactions
        ask = react(recorded.event, await self._experiments.state(recorded.stream))
        assert ask is not None, "a deletion is asked of the checkpoint store"
        try:
            await self._bus.request(ask.command, cause.then(ask.step))
        except Unavailable:
            raise
        except ResoluteError as error:
            why = error.message
            await self._execute(
                experiment_id, lambda e, ids: user_commands.deletion_failed(e, why), cause.then("failed")
            )
        else:
            await self._execute(experiment_id, lambda e, ids: user_commands.confirm_deleted(e), cause.then("confirm"))

    async def _ask_scheduler(self, recorded: Recorded, cause: Cause) -> None:
        if concerns_no_other_service(recorded.event):
            return
        # Settings are sent with their present values; the rest of a request is as it was when the event happened.
        settings = isinstance(recorded.event, ExperimentEdited | ExperimentContinued)
        experiment = await self._experiments.state(recorded.stream, None if settings else recorded.version)
        ask = react(recorded.event, experiment)
        if ask is None:
            return
        try:
            await self._bus.request(ask.command, cause.then(ask.step))
        except (Unavailable, Failed):
            raise
        except ResoluteError as error:  # a refusal, which another request would get as well
            if isinstance(recorded.event, ExperimentEdited | ExperimentContinued) and isinstance(error, NotFound):
                return  # the job is not in that pool; the next request for slots carries the settings
            outcome = _without_a_run(recorded.event, error)
            if outcome is None:
                raise
            trial_id, allocation, how = outcome
            task, owner = experiment.trial(trial_id).task_id, experiment.experiment_id
            exited = AllocationExited(allocation, how, None, error.message, task, owner, trial_id)
            await self._note(owner, exited, cause.then(how))

    async def _cover(self, recorded: Recorded, trial_id: int, length: int, cause: Cause) -> None:
        experiment = await self._experiments.state(recorded.stream, at_least=recorded.version)
        if experiment.trial(trial_id).has_covered(length, experiment.settings):
            await self._note(_id_of(recorded), CoverTarget(trial_id), cause)

    async def _note(self, experiment_id: int | None, news: Notification, cause: Cause) -> None:
        if experiment_id is not None:
            await self._execute(experiment_id, _deciding(news), cause.then("note"))

    async def _create(self, command: CreateExperiment, cause: Cause) -> Reply:
        method_for(Settings.of(command.config), command.seed)  # refuse a bad search before a number is reserved for it
        external_id = command.external_id if command.unmanaged else None
        number = await (self._number(cause) if external_id is None else self._number_of(external_id, cause))

        def create(experiment: Experiment, ids: Draw) -> list[Event]:
            return user_commands.create(command, number, ids) if experiment.state is ExperimentState.ABSENT else []

        outcome = await self._execute(number, create, cause)
        if external_id is not None and not outcome.events:
            known = await self._experiments.state(_stream(number))
            return Reply(outcome.position, {"experiment_id": number, "job_id": known.job_id})
        assert outcome.events, f"experiment {number} was there before it was created: its number was given twice"
        created = outcome.events[0].event
        assert isinstance(created, ExperimentCreated), f"experiment {number} begins with {created}"
        return Reply(outcome.position, {"experiment_id": number, "job_id": created.job_id})

    async def _continue(self, command: ContinueExperiment, cause: Cause) -> Reply:
        """Continues an experiment. Deletions of its checkpoints after its end are not in its own stream, so they are
        read from the streams of the checkpoint store."""
        experiment_id = command.experiment_id
        gone = await self._gone(experiment_id)
        outcome = await self._execute(
            experiment_id, lambda experiment, ids: continuing.continue_experiment(experiment, command, gone), cause
        )
        for uuid in await self._gone(experiment_id) - gone:  # deleted between the reading and the append
            await self._note(experiment_id, CheckpointDeletionRequested(uuid, ""), cause.then(uuid))
        return Reply(position=outcome.position)

    async def _gone(self, experiment_id: int) -> set[str]:
        """The checkpoints of the experiment's trials of which files were deleted."""
        source = (await self._experiments.state(_stream(experiment_id))).source_checkpoint
        owners = {experiment_id}
        if source is not None:
            claim = await self._log.read_stream(streams.CLAIM.stream(source.lower()))
            owners.update(r.event.experiment_id for r in claim if isinstance(r.event, CheckpointClaimed))
        histories = [await self._log.read_stream(streams.CHECKPOINTS.stream(owner)) for owner in sorted(owners)]
        ends = (CheckpointDeletionRequested, CheckpointFilesRemoved, CheckpointDeleted)
        return {r.event.uuid for events in histories for r in events if isinstance(r.event, ends)}

    async def _number(self, cause: Cause) -> int:
        """The number of the experiment: a new one for a new submission, the same one when the submission is
        repeated."""
        stream = derive.submission_stream(cause.id)
        numbered = await self._log.append(stream, (), expected_version=0, cause=cause)
        if not numbered.events:
            (fresh,) = await self._log.reserve("experiment")
            numbered = await self._log.append(stream, [ExperimentNumbered(fresh)], expected_version=0, cause=cause)
        first = numbered.events[0].event
        assert isinstance(first, ExperimentNumbered), f"{stream} begins with {first}"
        return first.experiment_id

    async def _number_of(self, external_id: str, cause: Cause) -> int:
        """The number of the unmanaged experiment with this external id: of the one that exists, else a new one."""
        stream = derive.external_stream(external_id)
        for _ in range(ATTEMPTS):
            numbered = await self._log.read_stream(stream)
            latest = numbered[-1].event if numbered else None
            if isinstance(latest, ExperimentNumbered):
                known = await self._experiments.state(_stream(latest.experiment_id))
                if known.state is not ExperimentState.DELETED:
                    return latest.experiment_id
            (fresh,) = await self._log.reserve("experiment")
            with suppress(WrongVersion):  # another request wrote first: the next round returns its number
                await self._log.append(
                    stream, [ExperimentNumbered(fresh)], expected_version=len(numbered), cause=cause.then("external")
                )
        raise Unavailable(f"the external id {external_id!r} is being taken by many at once")

    async def _execute(
        self, experiment_id: int, decide: Callable[[Experiment, Draw], Sequence[Event]], cause: Cause
    ) -> Appended:
        draw = Draw(self._stock)
        while True:
            try:
                outcome = await self._experiments.execute(_stream(experiment_id), draw.deciding(decide), cause)
            except NeedIds as need:
                draw.add(await self._log.reserve("trial", need.count))
            except Unavailable:
                raise  # the decision may have been written, so its ids must not be used again
            except ResoluteError:
                draw.settle(written=False)
                raise
            else:
                draw.settle(written=not outcome.repeated)
                return outcome


def _without_a_run(event: Event, error: ResoluteError) -> tuple[int, str, AllocationOutcome] | None:
    """The trial, allocation and outcome, where the scheduler's answer means that the run will never report its end. The
    searcher then ends the run itself, so that the trial does not wait for ever."""
    match event:
        case TrialRunRequested(trial_id=trial_id, allocation_id=allocation):
            return trial_id, allocation, AllocationOutcome.REFUSED
        case TrialStopRequested(trial_id=trial_id, allocation_id=allocation) if isinstance(error, NotFound):
            return trial_id, allocation, AllocationOutcome.KILLED
    return None


def _trial_of(command: CreateUnmanagedTrial | StartUnmanagedTrial, experiment: Experiment) -> dict[str, Any]:
    """The data of the answer to the client."""
    if isinstance(command, CreateUnmanagedTrial):
        created = unmanaged.trial_named(experiment, command.name)
        assert created is not None, f"trial {command.name!r} was just created, or was there before"
        return {"trial_id": created.trial_id}
    one = experiment.trial(command.trial_id)
    return {"run_id": one.run_id, "checkpoint": one.checkpoint, "steps_completed": one.steps_completed}


def _deciding(message: SearcherCommand | Notification) -> Callable[[Experiment, Draw], Sequence[Event]]:
    return lambda experiment, ids: decide(message, experiment, ids)


def _stream(experiment_id: int) -> str:
    return streams.EXPERIMENT.stream(experiment_id)


def _id_of(recorded: Recorded) -> int:
    return int(recorded.key)
