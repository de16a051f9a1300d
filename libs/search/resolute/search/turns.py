"""Whose turn it is: trials that wait for others of their search to end, so that no more run at once than may.

A method asks for no more trials at once than that, and each runs as soon as it is created. Only when many trials
that had ended go on together, or the experiment was paused in between, does one wait for its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from resolute.proto.experiment import TrialRunRequested
from resolute.proto.message import Event
from resolute.proto.states import ExperimentState, TrialState
from resolute.search import trial
from resolute.search.experiment import Experiment
from resolute.search.settings import Settings
from resolute.search.trial import Trial

QUEUED = ("random", "grid")
"""Methods whose open trials all run, or wait for a place to run; in others some wait for the search."""


def limit(settings: Settings) -> int | None:
    """How many may run at once; None when nothing says so."""
    return settings.searcher.at_once if settings.searcher.name in QUEUED else None


def room(experiment: Experiment) -> int | None:
    """How many more may run; None when nothing limits it."""
    most = limit(experiment.settings)
    return None if most is None else max(most - len(experiment.open) + len(experiment.queue), 0)


def starting(experiment: Experiment, places: int | None) -> list[TrialRunRequested]:
    """The runs of the next `places` in the queue, of all of it when None."""
    return [trial.next_run(one, experiment.settings) for one in islice(_in_turn(experiment), places)]


def after_the_end_of(experiment: Experiment, trial_id: int) -> list[Event]:
    """The trial's place is given on, to the one that has waited longest; it is itself about to end."""
    if experiment.state is not ExperimentState.ACTIVE or trial_id in experiment.queue:
        return []
    return [*starting(experiment, 1)]


def _in_turn(experiment: Experiment) -> Iterator[Trial]:
    """One that was told to stop is about to be closed."""
    waiting = (experiment.open[trial_id] for trial_id in experiment.queue)
    return (one for one in waiting if one.state is TrialState.PAUSED)
