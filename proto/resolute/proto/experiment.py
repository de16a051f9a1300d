"""Experiments and their trials: the messages of the searcher.

An experiment and all its trials are one story and so one stream, `experiment-7`: a report of one trial decides
what happens to the others, and that decision must see all of them (docs/decisions/0003).
Steps are cumulative batches since the trial's first run. States, outcomes and what follows them are the enums of
`resolute.proto.states`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event, Object
from resolute.proto.states import AfterStop


class ExperimentEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.EXPERIMENT.name


class SearcherCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "searcher"


# ---------------------------------------------------------------- events: the experiment


@dataclass(frozen=True, slots=True)
class ExperimentNumbered(Event):
    """A submission was given its number. Written to a stream of its own, `submission-<digest of the command's id>`,
    so that a submission which arrives twice is one experiment."""

    category: ClassVar[str] = streams.SUBMISSION.name
    experiment_id: int


@dataclass(frozen=True, slots=True)
class AgentUser:
    """Whom a user's tasks run as on the agents' hosts: names and numbers that are theirs."""

    user: str
    uid: int
    group: str
    gid: int


@dataclass(frozen=True, slots=True)
class SearchBracket:
    """One ladder of rungs of a halving search, with a budget of trials of its own."""

    lengths: tuple[int, ...]
    """Of its rungs, the shortest first: cumulative, in the unit of the search."""
    max_trials: int
    at_once: int
    """How many trials it begins with, and so trains at once at most."""


@dataclass(frozen=True, slots=True)
class ExperimentCreated(ExperimentEvent):
    experiment_id: int
    job_id: str
    name: str
    config: Object
    """The whole merged configuration, with the cluster's defaults filled in."""
    original_config: str
    """The YAML as its author wrote it."""
    owner_id: int
    owner: str
    project_id: int
    seed: int
    model_definition: str | None = None
    """SHA-256 of the context directory's archive, in hex; the gateway keeps the blob."""
    parent_id: int | None = None
    unmanaged: bool = False
    external_id: str | None = None
    agent_user: AgentUser | None = None
    """The owner's, as it was when this was submitted."""
    brackets: tuple[SearchBracket, ...] | None = None
    """How a halving search is divided. Null for other searches, and in events of releases that did not record it."""


@dataclass(frozen=True, slots=True)
class ExperimentActivated(ExperimentEvent):
    pass


@dataclass(frozen=True, slots=True)
class ExperimentPaused(ExperimentEvent):
    pass


@dataclass(frozen=True, slots=True)
class ExperimentStopping(ExperimentEvent):
    """No trial will start any more; the experiment ends as `outcome` when the last of them has exited."""

    outcome: str
    """COMPLETED, CANCELED, KILLED or ERROR."""
    reason: str


@dataclass(frozen=True, slots=True)
class ExperimentEnded(ExperimentEvent):
    outcome: str
    """COMPLETED, CANCELED or ERROR."""
    reason: str


@dataclass(frozen=True, slots=True)
class ExperimentContinued(ExperimentEvent):
    """It had ended and goes on: one more chapter of the same story (docs/decisions/0015)."""

    config: Object
    """The merged configuration from here on."""
    trials: tuple[int, ...]
    """Those that go on, in the order of their creation; the others stay as they ended."""


@dataclass(frozen=True, slots=True)
class ExperimentArchived(ExperimentEvent):
    pass


@dataclass(frozen=True, slots=True)
class ExperimentUnarchived(ExperimentEvent):
    pass


@dataclass(frozen=True, slots=True)
class ExperimentDeletionRequested(ExperimentEvent):
    pass


@dataclass(frozen=True, slots=True)
class ExperimentDeleted(ExperimentEvent):
    """Its checkpoints' files are gone and no read model shows it; the log keeps the story."""


@dataclass(frozen=True, slots=True)
class ExperimentDeletionFailed(ExperimentEvent):
    """Some of its files could not be removed; deleting may be asked for again."""

    reason: str


@dataclass(frozen=True, slots=True)
class ExperimentEdited(ExperimentEvent):
    """`changes` holds the new values by field: name, description, notes, labels, max_restarts, max_slots,
    weight, priority, resource_pool, log_retention_days, save_experiment_best, save_trial_best,
    save_trial_latest."""

    changes: Object


@dataclass(frozen=True, slots=True)
class ExperimentMoved(ExperimentEvent):
    project_id: int


@dataclass(frozen=True, slots=True)
class TrialLogRetentionSet(ExperimentEvent):
    """The log of one trial is kept for another time than its experiment's configuration says."""

    trial_id: int
    days: int
    """After the trial has ended; -1 keeps it for ever."""


@dataclass(frozen=True, slots=True)
class TrialLogRemoved(ExperimentEvent):
    """What a trial had printed is deleted: it was kept for as long as was asked for."""

    trial_id: int
    lines: int
    """How many lines were deleted."""
    retention_days: int
    """For how many days after its end the trial's log was to be kept."""


@dataclass(frozen=True, slots=True)
class TrialArchived(ExperimentEvent):
    """Lists leave the trial out, unless they are asked for what is archived. It is put back by hand, or by being
    continued."""

    trial_id: int


@dataclass(frozen=True, slots=True)
class TrialUnarchived(ExperimentEvent):
    trial_id: int


@dataclass(frozen=True, slots=True)
class TrialMetadataChanged(ExperimentEvent):
    """What a trial's own code, or a person, says of the trial in a document of any form: the whole of it."""

    trial_id: int
    metadata: Object
    carried_over: bool = False
    """Whether it comes from the table of a release that recorded no changes of metadata."""


# ---------------------------------------------------------------- what a search decided at an event


@dataclass(frozen=True, slots=True)
class RungResult:
    """A trial's result at a rung. The results of a rung are sorted by `metric`, and equal ones by `turn`."""

    trial_id: int
    metric: float | None
    """Multiplied by -1 where larger is better, so that smaller is better. Null for a result that is no number: such
    results rank last."""
    turn: int


@dataclass(frozen=True, slots=True)
class RungChange:
    """What changed at one rung of the bracket that the trial of the event belongs to."""

    rung: int
    """The place of the rung in its bracket: 0 is the shortest."""
    added: tuple[RungResult, ...] = ()
    moved_on: tuple[int, ...] = ()
    """Trials that are not promoted from this rung any more: they train to the next one, or are counted there."""


@dataclass(frozen=True, slots=True)
class TrialAim:
    """The rung that a trial trains to from now on."""

    trial_id: int
    rung: int | None
    """Null when the search wants no further training of it for now."""


@dataclass(frozen=True, slots=True)
class SearchDecision:
    """What a halving search found out and decided at an event. The operations themselves follow as events of their own
    (TrialTargetSet, TrialStopRequested, TrialCreated); this is what the search must know to decide the next time."""

    rungs: tuple[RungChange, ...] = ()
    aims: tuple[TrialAim, ...] = ()
    new_trials: int = 0
    """How many trials are to be created in this bracket."""
    replaced: bool = False
    """The trial of the event reported its hyperparameters as invalid: its results are removed from every rung, and
    another trial may be created in its place."""


# ---------------------------------------------------------------- events: its trials


@dataclass(frozen=True, slots=True)
class TrialCreated(ExperimentEvent):
    trial_id: int
    request_id: str
    """The search method's own name for it, a function of the experiment's seed."""
    task_id: str
    hparams: Object
    seed: int
    source_checkpoint: str | None = None


@dataclass(frozen=True, slots=True)
class TrialContinued(ExperimentEvent):
    """The trial had ended and goes on from its latest checkpoint, with all its restarts before it again."""

    trial_id: int
    hparams: Object | None = None
    """Its hyperparameters from now on, where they are not what they were."""


@dataclass(frozen=True, slots=True)
class TrialRunRequested(ExperimentEvent):
    """A run of the trial shall start, from `checkpoint` on, in an allocation of its own."""

    trial_id: int
    run_id: int
    """1 for the first run; counts every start, restarts and resumptions alike."""
    allocation_id: str
    slots: int
    checkpoint: str | None
    steps_completed: int
    pool: str = "default"
    blocked_agents: tuple[str, ...] = ()
    """Where it shall not be placed: lines it printed there matched a policy that excludes the node."""
    slots_min: int | None = None
    """Where any number of slots from this up to `slots` will do."""


@dataclass(frozen=True, slots=True)
class TrialRunStarted(ExperimentEvent):
    trial_id: int
    run_id: int


@dataclass(frozen=True, slots=True)
class TrialTargetSet(ExperimentEvent):
    """The trial shall train to `length` in all: a cumulative total, in the unit of `searcher.max_length`."""

    trial_id: int
    length: int
    why: str = ""
    """What earned it a further one; empty for its first."""


@dataclass(frozen=True, slots=True)
class TrialTargetReached(ExperimentEvent):
    """It has trained to its target; `metric` is what it was worth there, null where that was NaN."""

    trial_id: int
    run_id: int
    length: int
    metric: float | None
    decided: SearchDecision | None = None
    """What a halving search decided at this event. Null for other searches, and in events of releases that did not
    record it."""


@dataclass(frozen=True, slots=True)
class TrialValidated(ExperimentEvent):
    """The searcher's metric at `steps_completed`; `metric` is null where the trial reported NaN."""

    trial_id: int
    run_id: int
    steps_completed: int
    metric: float | None
    time: float | None = None
    """What the trial reported as `searcher.time_metric`, where the search goes by that."""
    decided: SearchDecision | None = None
    """What a halving search decided at this event. Null for other searches, and in events of releases that did not
    record it."""


@dataclass(frozen=True, slots=True)
class TrialCheckpointed(ExperimentEvent):
    trial_id: int
    run_id: int
    checkpoint: str
    steps_completed: int


@dataclass(frozen=True, slots=True)
class TrialCheckpointLost(ExperimentEvent):
    """Files of one of its checkpoints were deleted: no run resumes from that one any more."""

    trial_id: int
    lost: str
    checkpoint: str | None
    """What it resumes from now: the latest that is whole, or none."""
    steps_completed: int


@dataclass(frozen=True, slots=True)
class TrialEarlyExitReported(ExperimentEvent):
    trial_id: int
    reason: str
    """INVALID_HP, USER_REQUESTED_STOP, or MISCONFIGURED: it fails, and would whenever it was tried again."""


@dataclass(frozen=True, slots=True)
class TrialLogPolicyMatched(ExperimentEvent):
    """A line that the run printed matches a policy of its configuration. Said once for each run and policy."""

    trial_id: int
    run_id: int
    policy: str
    """Its name; of an unnamed one the pattern."""
    pattern: str
    action: str
    """cancel_retries, exclude_node, or empty: then it is only shown."""
    line: str
    """The line that matched, or its beginning."""
    agent_id: str
    """Where it was printed; empty when nobody knows."""


@dataclass(frozen=True, slots=True)
class TrialStopRequested(ExperimentEvent):
    """The trial's running allocation shall end: asked to checkpoint first (`preempt`), or at once (`kill`)."""

    trial_id: int
    allocation_id: str
    """Empty when the trial has no run: then it only remains to close it."""
    how: str
    """preempt or kill."""
    why: str
    then: str = AfterStop.PAUSED.value
    """What becomes of the trial when its run has ended: PAUSED, WAITING (for a target beyond the one it has
    reached), COMPLETED, CANCELED or KILLED."""


@dataclass(frozen=True, slots=True)
class TrialRunEnded(ExperimentEvent):
    trial_id: int
    run_id: int
    outcome: str
    """completed, yielded (checkpointed and gave its slots back), failed, killed, lost (its host went away),
    refused (no pool can ever hold it) or hopeless (it could not be started, and never could)."""
    exit_code: int | None
    reason: str
    restarts_left: int | None = None
    """After a failure that another run follows: how many more such failures the trial may have."""


@dataclass(frozen=True, slots=True)
class TrialEnded(ExperimentEvent):
    trial_id: int
    outcome: str
    """COMPLETED, CANCELED or ERROR."""
    reason: str
    decided: SearchDecision | None = None
    """What a halving search decided at this event. Null for other searches, and in events of releases that did not
    record it."""


@dataclass(frozen=True, slots=True)
class SearchProgressed(ExperimentEvent):
    """How far a search has come that compares its trials: no sum over them would tell. Said at each hundredth."""

    progress: float
    """From 0 to 1."""


@dataclass(frozen=True, slots=True)
class SearchOperationsPosted(ExperimentEvent):
    """The client that drives a custom search said what to do next; what that led to follows in the same append."""

    operations: tuple[Object, ...]
    answers: int = 0
    """The version, in the experiment's stream, of the newest event that the client had seen; 0 for none."""


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class CreateExperiment(SearcherCommand):
    """The reply's data: {"experiment_id": int, "job_id": str}."""

    name: str
    config: Object
    original_config: str
    owner_id: int
    owner: str
    project_id: int
    seed: int
    activate: bool = True
    model_definition: str | None = None
    parent_id: int | None = None
    unmanaged: bool = False
    external_id: str | None = None
    agent_user: AgentUser | None = None


@dataclass(frozen=True, slots=True)
class PauseExperiment(SearcherCommand):
    experiment_id: int


@dataclass(frozen=True, slots=True)
class ActivateExperiment(SearcherCommand):
    experiment_id: int


@dataclass(frozen=True, slots=True)
class CancelExperiment(SearcherCommand):
    experiment_id: int


@dataclass(frozen=True, slots=True)
class KillExperiment(SearcherCommand):
    experiment_id: int


@dataclass(frozen=True, slots=True)
class ContinueExperiment(SearcherCommand):
    experiment_id: int
    config: Object
    """Merged, what the caller overrides included."""
    overridden: tuple[str, ...] | None = None
    """Which of the values that ExperimentEdited names the caller overrides, the labels apart. The others stay as they
    are when this is decided, so that an edit which came after the sender had read the configuration is kept. Null in
    commands of releases that did not say: then all of `config` counts."""
    labels_added: tuple[str, ...] = ()
    """Those that the caller adds to the labels there are."""


@dataclass(frozen=True, slots=True)
class ArchiveExperiment(SearcherCommand):
    experiment_id: int


@dataclass(frozen=True, slots=True)
class UnarchiveExperiment(SearcherCommand):
    experiment_id: int


@dataclass(frozen=True, slots=True)
class DeleteExperiment(SearcherCommand):
    experiment_id: int


@dataclass(frozen=True, slots=True)
class ConfirmDeleted(SearcherCommand):
    """The checkpoint store has removed every file of the experiment."""

    experiment_id: int


@dataclass(frozen=True, slots=True)
class EditExperiment(SearcherCommand):
    """`changes` as in ExperimentEdited."""

    experiment_id: int
    changes: Object


@dataclass(frozen=True, slots=True)
class AddLabel(SearcherCommand):
    """The reply's data: {"labels": [str]}, all the labels that the experiment has then."""

    experiment_id: int
    label: str


@dataclass(frozen=True, slots=True)
class RemoveLabel(SearcherCommand):
    """The reply's data as of AddLabel. A label that the experiment does not have is removed already."""

    experiment_id: int
    label: str


@dataclass(frozen=True, slots=True)
class MoveExperiment(SearcherCommand):
    experiment_id: int
    project_id: int


@dataclass(frozen=True, slots=True)
class KillTrial(SearcherCommand):
    experiment_id: int
    trial_id: int


@dataclass(frozen=True, slots=True)
class ArchiveTrial(SearcherCommand):
    experiment_id: int
    trial_id: int


@dataclass(frozen=True, slots=True)
class UnarchiveTrial(SearcherCommand):
    experiment_id: int
    trial_id: int


@dataclass(frozen=True, slots=True)
class CreateUnmanagedTrial(SearcherCommand):
    """A trial that runs outside of the cluster, in an unmanaged experiment. The reply's data: {"trial_id": int}, of the
    new trial, or of the one that has this name already."""

    experiment_id: int
    name: str
    """The external id that the client gave it, or a UUID."""
    hparams: Object


@dataclass(frozen=True, slots=True)
class StartUnmanagedTrial(SearcherCommand):
    """A process outside of the cluster begins a run of the trial. The reply's data: {"run_id": int,
    "checkpoint": str or null, "steps_completed": int}."""

    experiment_id: int
    trial_id: int
    resume: bool = False
    """Whether the trial may have been started before: then it goes on from its latest checkpoint."""


@dataclass(frozen=True, slots=True)
class SetUnmanagedTrialState(SearcherCommand):
    experiment_id: int
    trial_id: int
    state: str
    """ACTIVE, PAUSED, COMPLETED, CANCELED or ERROR."""


@dataclass(frozen=True, slots=True)
class ReportTrialSilent(SearcherCommand):
    """The process of an unmanaged trial sent no heartbeat for too long."""

    experiment_id: int
    trial_id: int
    run_id: int
    last_heartbeat_at: datetime
    limit_s: float


@dataclass(frozen=True, slots=True)
class SetTrialLogRetention(SearcherCommand):
    experiment_id: int
    trial_id: int
    days: int
    """After the trial has ended; -1 keeps its log for ever."""


@dataclass(frozen=True, slots=True)
class ChangeTrialMetadata(SearcherCommand):
    """Replace the metadata of a trial. With `carried_over`, they come from the table of an earlier release: metadata
    that were changed since are left as they are."""

    experiment_id: int
    trial_id: int
    metadata: Object
    carried_over: bool = False


@dataclass(frozen=True, slots=True)
class RecordLogRemoved(SearcherCommand):
    """The gateway, which keeps the logs of trials, has deleted that of one."""

    experiment_id: int
    trial_id: int
    lines: int
    retention_days: int


@dataclass(frozen=True, slots=True)
class ReportValidation(SearcherCommand):
    """A trial has validated. The reply's data is a ValidationTaken, as JSON."""

    experiment_id: int
    trial_id: int
    run_id: int
    steps_completed: int
    metric: float | None
    time: float | None = None
    """The trial's `searcher.time_metric`, where the search goes by that."""


@dataclass(frozen=True, slots=True)
class ValidationTaken:
    stop: bool = False
    """Whether the run has nothing more to train: its trial was stopped, by this validation or before."""


@dataclass(frozen=True, slots=True)
class CompleteOperation(SearcherCommand):
    """The trial has trained to its target of `length`. A validation at or beyond it says the same, and then this
    is a repetition."""

    experiment_id: int
    trial_id: int
    run_id: int
    length: int
    metric: float | None


@dataclass(frozen=True, slots=True)
class PostOperations(SearcherCommand):
    """What the client of a custom search wants done, in order; all of it, or none.

    Each has a `type`: create_trial {request_id, hparams, length?}, train_to {request_id, length}, close_trial
    {request_id}, set_progress {progress}, shutdown {outcome?, reason?}.
    """

    experiment_id: int
    operations: tuple[Object, ...]
    answers: int = 0
    """The version, in the experiment's stream, of the newest event that the client has seen. An answer to what was
    answered before is a repetition and changes nothing; 0 is never one."""


@dataclass(frozen=True, slots=True)
class ReportEarlyExit(SearcherCommand):
    experiment_id: int
    trial_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReportLogPolicyMatch(SearcherCommand):
    experiment_id: int
    trial_id: int
    run_id: int
    policy: str
    pattern: str
    action: str
    line: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class PreviewSearch(SearcherCommand):
    """Ask how many trials a search would make, and how far each would train; nothing is written. The reply's data:
    {"unit": str, "trials": [{"count": int, "length": int, "full": bool}]}."""

    config: Object
    """A whole merged configuration."""
    seed: int


@dataclass(frozen=True, slots=True)
class DescribeRun(SearcherCommand):
    """Ask what a run needs to start; nothing is written. The reply's data is a TaskSpec, as JSON.

    Schedulers of release 0.1.0 ask so; later ones send `resolute.proto.tasks.DescribeTask` to the owner of the task.
    """

    experiment_id: int
    trial_id: int
    allocation_id: str
