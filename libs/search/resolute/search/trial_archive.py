"""Archiving trials one at a time: lists leave them out, and nothing else changes. Continuing a trial puts it back."""

from __future__ import annotations

from resolute.proto.errors import refuse
from resolute.proto.experiment import ArchiveTrial, TrialArchived, TrialUnarchived, UnarchiveTrial
from resolute.proto.message import Event
from resolute.proto.states import GONE
from resolute.search.experiment import Experiment
from resolute.search.trial import Trial
from resolute.search.user_commands import refused


def archive(experiment: Experiment, command: ArchiveTrial) -> list[Event]:
    one = _ended(experiment, "archive", command.trial_id)
    return [] if one.archived else [TrialArchived(one.trial_id)]


def unarchive(experiment: Experiment, command: UnarchiveTrial) -> list[Event]:
    one = _ended(experiment, "unarchive", command.trial_id)
    return [TrialUnarchived(one.trial_id)] if one.archived else []


def _ended(experiment: Experiment, what: str, trial_id: int) -> Trial:
    """Raises NotFound for an unknown trial. Raises Refused for one that has not ended, or that is out of sight with its
    experiment."""
    if experiment.state in GONE:
        raise refused(f"{what} a trial of", experiment)
    one = experiment.trial(trial_id)
    if trial_id in experiment.open:
        raise refuse(f"{what} trial {trial_id}", f"it is {one.state.name}", "wait until it has ended, or kill it")
    if experiment.archived:
        why = f"its experiment {experiment.experiment_id} is archived"
        raise refuse(f"{what} trial {trial_id}", why, "unarchive the experiment")
    return one
