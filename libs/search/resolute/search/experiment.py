"""One experiment: a configuration being searched, and all the trials of that search, as one story.

The fold owns its state and changes it in place, at a cost that does not depend on how many trials there were.
The decisions are in other modules: `user_commands` for users, `reports` for trials, `operations` for the search method.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from resolute.proto.errors import NotFound
from resolute.proto.experiment import (
    AgentUser,
    ExperimentActivated,
    ExperimentArchived,
    ExperimentContinued,
    ExperimentCreated,
    ExperimentDeleted,
    ExperimentDeletionFailed,
    ExperimentDeletionRequested,
    ExperimentEdited,
    ExperimentEnded,
    ExperimentMoved,
    ExperimentPaused,
    ExperimentStopping,
    ExperimentUnarchived,
    SearchOperationsPosted,
    SearchProgressed,
    TrialArchived,
    TrialContinued,
    TrialCreated,
    TrialEnded,
    TrialLogRemoved,
    TrialLogRetentionSet,
    TrialMetadataChanged,
    TrialRunRequested,
    TrialTargetSet,
    TrialUnarchived,
)
from resolute.proto.message import Event
from resolute.proto.states import FINISHED, RUNNING, STOPPING, End, StopAs
from resolute.proto.states import ExperimentState as State
from resolute.search import settings, trial, trial_metadata
from resolute.search.flow import Flow, loops, step
from resolute.search.methods import SearchEvent, SearchMethod, method_for
from resolute.search.settings import Settings
from resolute.search.trial import Trial, TrialEvent

FLOW: Flow[State] = {
    (State.ABSENT, ExperimentCreated): State.PAUSED,
    (State.PAUSED, ExperimentActivated): State.ACTIVE,
    (State.ACTIVE, ExperimentPaused): State.PAUSED,
    (State.ACTIVE, ExperimentStopping, StopAs.COMPLETED): State.STOPPING_COMPLETED,
    (State.ACTIVE, ExperimentStopping, StopAs.CANCELED): State.STOPPING_CANCELED,
    (State.ACTIVE, ExperimentStopping, StopAs.KILLED): State.STOPPING_KILLED,
    (State.ACTIVE, ExperimentStopping, StopAs.ERROR): State.STOPPING_ERROR,
    (State.PAUSED, ExperimentStopping, StopAs.COMPLETED): State.STOPPING_COMPLETED,
    (State.PAUSED, ExperimentStopping, StopAs.CANCELED): State.STOPPING_CANCELED,
    (State.PAUSED, ExperimentStopping, StopAs.KILLED): State.STOPPING_KILLED,
    (State.PAUSED, ExperimentStopping, StopAs.ERROR): State.STOPPING_ERROR,
    (State.STOPPING_COMPLETED, ExperimentStopping, StopAs.CANCELED): State.STOPPING_CANCELED,
    (State.STOPPING_COMPLETED, ExperimentStopping, StopAs.KILLED): State.STOPPING_KILLED,
    (State.STOPPING_ERROR, ExperimentStopping, StopAs.CANCELED): State.STOPPING_CANCELED,
    (State.STOPPING_ERROR, ExperimentStopping, StopAs.KILLED): State.STOPPING_KILLED,
    (State.STOPPING_CANCELED, ExperimentStopping, StopAs.KILLED): State.STOPPING_KILLED,
    (State.STOPPING_COMPLETED, ExperimentEnded, End.COMPLETED): State.COMPLETED,
    (State.STOPPING_CANCELED, ExperimentEnded, End.CANCELED): State.CANCELED,
    (State.STOPPING_KILLED, ExperimentEnded, End.CANCELED): State.CANCELED,
    (State.STOPPING_ERROR, ExperimentEnded, End.ERROR): State.ERROR,
    (State.COMPLETED, ExperimentContinued): State.ACTIVE,
    (State.CANCELED, ExperimentContinued): State.ACTIVE,
    (State.ERROR, ExperimentContinued): State.ACTIVE,
    (State.COMPLETED, ExperimentDeletionRequested): State.DELETING,
    (State.CANCELED, ExperimentDeletionRequested): State.DELETING,
    (State.ERROR, ExperimentDeletionRequested): State.DELETING,
    (State.DELETE_FAILED, ExperimentDeletionRequested): State.DELETING,
    (State.DELETING, ExperimentDeletionFailed): State.DELETE_FAILED,
    (State.DELETING, ExperimentDeleted): State.DELETED,
    **loops(FINISHED, ExperimentArchived, ExperimentUnarchived),
    **loops((*RUNNING, *STOPPING, *FINISHED), ExperimentEdited, ExperimentMoved),
    **loops((*RUNNING, *STOPPING, *FINISHED), TrialLogRetentionSet, TrialLogRemoved),
    **loops((*RUNNING, *STOPPING, *FINISHED), TrialArchived, TrialUnarchived),
    **loops((*RUNNING, *STOPPING, *FINISHED, State.DELETING, State.DELETE_FAILED), TrialMetadataChanged),
    **loops(RUNNING, TrialCreated, TrialTargetSet, SearchOperationsPosted, SearchProgressed),
    **loops((State.ACTIVE,), TrialRunRequested, TrialContinued),
    **loops((*RUNNING, *STOPPING), *trial.OF_OPEN_TRIALS),
}


@dataclass(slots=True)
class Experiment:
    state: State = State.ABSENT
    experiment_id: int = 0
    job_id: str = ""
    name: str = ""
    owner: str = ""
    agent_user: AgentUser | None = None
    seed: int = 0
    reason: str = ""
    """Why it is stopping, or ended."""
    archived: bool = False
    unmanaged: bool = False
    project_id: int = 0
    notes: str = ""
    progress: float = 0.0
    """What was last said of it; the method knows better."""
    config: dict[str, Any] = field(default_factory=dict)
    trials: dict[int, Trial] = field(default_factory=dict)
    open: dict[int, Trial] = field(default_factory=dict)
    """Those that have not ended, in the order of their creation."""
    queue: dict[int, None] = field(default_factory=dict)
    """Of the open ones those whose turn to run has not come since they were created or continued."""
    by_task: dict[str, Trial] = field(default_factory=dict)
    _settings: Settings | None = None
    _method: SearchMethod | None = None

    @property
    def settings(self) -> Settings:
        assert self._settings is not None, "an experiment has settings from its creation on"
        return self._settings

    @property
    def method(self) -> SearchMethod:
        assert self._method is not None, "an experiment has a search method from its creation on"
        return self._method

    @property
    def source_checkpoint(self) -> str | None:
        """What its trials begin from; of another experiment."""
        return self._settings.searcher.source_checkpoint_uuid if self._settings else None

    @property
    def labels(self) -> list[str]:
        return list(self.config.get("labels") or ())

    def trial(self, trial_id: int) -> Trial:
        """Raises NotFound."""
        if trial_id not in self.trials:
            raise NotFound(f"experiment {self.experiment_id} has no trial {trial_id}")
        return self.trials[trial_id]

    def trial_running_in(self, allocation_id: str) -> Trial | None:
        """The trial whose live run that allocation is."""
        found = self.by_task.get(allocation_id.rpartition(".")[0])
        return found if found and found.allocation_id == allocation_id else None


def evolve(experiment: Experiment, event: Event) -> Experiment:
    """The same object, changed."""
    experiment.state = step(FLOW, experiment.state, event)
    match event:
        case ExperimentCreated():
            _create(experiment, event)
        case ExperimentContinued():
            _continue(experiment, event)
        case ExperimentStopping(reason=reason):
            experiment.reason = reason
        case ExperimentEnded():
            assert not experiment.open, f"experiment {experiment.experiment_id} ends before {list(experiment.open)}"
            experiment.reason = event.reason
        case ExperimentDeletionFailed(reason=reason):
            experiment.reason = reason
        case ExperimentArchived():
            experiment.archived = True
        case ExperimentUnarchived():
            experiment.archived = False
        case ExperimentMoved(project_id=project_id):
            experiment.project_id = project_id
        case ExperimentEdited(changes=changes):
            _edit(experiment, changes)
        case TrialMetadataChanged(trial_id=trial_id):
            trial_metadata.keep(experiment.trials[trial_id], event)
        case TrialArchived(trial_id=trial_id):
            experiment.trials[trial_id].archived = True
        case TrialUnarchived(trial_id=trial_id):
            experiment.trials[trial_id].archived = False
        case SearchOperationsPosted():
            experiment.method.evolve(event)
        case SearchProgressed(progress=progress):
            experiment.progress = progress
        case _ if isinstance(event, TrialEvent):
            _evolve_trial(experiment, event.trial_id, event)
    return experiment


def _create(experiment: Experiment, event: ExperimentCreated) -> None:
    experiment.experiment_id, experiment.job_id = event.experiment_id, event.job_id
    experiment.name, experiment.owner, experiment.agent_user = event.name, event.owner, event.agent_user
    experiment.seed, experiment.config = event.seed, event.config
    experiment.project_id, experiment.unmanaged = event.project_id, event.unmanaged
    experiment._settings = Settings.of(event.config)
    experiment._method = method_for(experiment.settings, event.seed, event.brackets)


def _continue(experiment: Experiment, event: ExperimentContinued) -> None:
    """Starts a new search method and gives it the events that still hold: the trials, and how those that stay ended
    have ended."""
    experiment.reason, experiment.config = "", event.config
    experiment.name = event.config.get("name", experiment.name)
    experiment._settings = Settings.of(event.config)
    experiment._method = method_for(experiment.settings, experiment.seed)
    if experiment.unmanaged:  # no search method decides about its trials
        return
    for one in experiment.trials.values():
        for past in trial.events_for_new_method(one, goes_on=one.trial_id in event.trials):
            experiment.method.evolve(past)


def _edit(experiment: Experiment, changes: dict[str, Any]) -> None:
    experiment.name = changes.get("name", experiment.name)
    experiment.notes = changes.get("notes", experiment.notes)
    experiment.config = settings.edited(experiment.config, changes)
    experiment._settings = Settings.of(experiment.config)


def _evolve_trial(experiment: Experiment, trial_id: int, event: TrialEvent) -> None:
    if isinstance(event, TrialCreated):
        _add_trial(experiment, event)
    trial.evolve(experiment.trials[trial_id], event)
    match event:
        case TrialContinued():
            experiment.open[trial_id] = experiment.trials[trial_id]
            experiment.queue[trial_id] = None
        case TrialRunRequested():
            experiment.queue.pop(trial_id, None)
        case TrialEnded():
            del experiment.open[trial_id]
            experiment.queue.pop(trial_id, None)
    if isinstance(event, SearchEvent) and not experiment.unmanaged:
        experiment.method.evolve(event)


def _add_trial(experiment: Experiment, event: TrialCreated) -> None:
    assert event.trial_id not in experiment.trials, f"trial {event.trial_id} is created twice"
    added = Trial(event.trial_id)
    experiment.trials[event.trial_id] = experiment.open[event.trial_id] = added
    experiment.queue[event.trial_id] = None
    experiment.by_task[event.task_id] = added
