"""The limit of trials that run at once (`max_concurrent_trials`), and the trials that wait because of it.

A search method creates no more trials at once than the limit allows, and each runs as soon as it is created. A trial
waits in the experiment's queue only where many trials that had ended are continued together, or the experiment was
paused.
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
"""Methods whose open trials all run, or wait because of the limit. In other methods trials also wait for the search."""


def limit(settings: Settings) -> int | None:
    """How many trials may run at once; None for no limit."""
    return settings.searcher.at_once if settings.searcher.name in QUEUED else None


def free_places(experiment: Experiment) -> int | None:
    """How many more trials may run now; None for no limit."""
    most = limit(experiment.settings)
    return None if most is None else max(most - len(experiment.open) + len(experiment.queue), 0)


def next_runs(experiment: Experiment, places: int | None) -> list[TrialRunRequested]:
    """The next runs of the first `places` trials in the queue; of all of them for None."""
    return [trial.next_run(one, experiment.settings) for one in islice(_in_turn(experiment), places)]


def runs_after_end(experiment: Experiment, trial_id: int) -> list[Event]:
    """The run of the trial that has waited longest, which takes the place of `trial_id`, a trial that is about to
    end."""
    if experiment.state is not ExperimentState.ACTIVE or trial_id in experiment.queue:
        return []
    return [*next_runs(experiment, 1)]


def _in_turn(experiment: Experiment) -> Iterator[Trial]:
    """The trials of the queue, without those that were asked to stop, which are about to be closed."""
    waiting = (experiment.open[trial_id] for trial_id in experiment.queue)
    return (one for one in waiting if one.state is TrialState.PAUSED)
