"""The logs of trials: for how long they are kept, and that they were removed. The lines are the gateway's."""

from __future__ import annotations

from resolute.proto.experiment import RecordLogRemoved, SetTrialLogRetention, TrialLogRemoved, TrialLogRetentionSet
from resolute.proto.message import Event
from resolute.proto.states import GONE
from resolute.search.experiment import Experiment
from resolute.search.settings import check_log_retention
from resolute.search.user_commands import refused


def set_retention(experiment: Experiment, command: SetTrialLogRetention) -> list[Event]:
    """Raises NotFound for an unknown trial, and InvalidConfig for a number of days that cannot be."""
    if experiment.state in GONE:
        raise refused("edit", experiment)
    check_log_retention(command.days)
    return [TrialLogRetentionSet(experiment.trial(command.trial_id).trial_id, command.days)]


def removed(experiment: Experiment, command: RecordLogRemoved) -> list[Event]:
    """An experiment that is being deleted loses its logs anyway."""
    if experiment.state in GONE:
        return []
    trial_id = experiment.trial(command.trial_id).trial_id
    return [TrialLogRemoved(trial_id, command.lines, command.retention_days)]
