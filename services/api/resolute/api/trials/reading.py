"""Reading trials, and killing one."""

from __future__ import annotations

from collections.abc import Iterable

from resolute.api.call import Call
from resolute.api.experiments.messages import ExperimentState
from resolute.api.experiments.presenting import outline_of
from resolute.api.kernel.common import OrderBy, Pagination
from resolute.api.kernel.listing import state_names
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.paging import Window
from resolute.api.shown_states import Phase
from resolute.api.trials import messages as m
from resolute.api.trials.queries import QUERIES, TrialQueries
from resolute.api.trials.shown import shown, shown_in_full
from resolute.proto import states
from resolute.proto.errors import NotFound
from resolute.proto.experiment import KillTrial
from resolute.proto.states import TrialState

LISTED = 100
"""How many trials a page has where the request does not say it."""

STATES = (
    *(TrialState.ACTIVE, TrialState.PAUSED, TrialState.STOPPING_CANCELED, TrialState.STOPPING_KILLED),
    *(TrialState.STOPPING_COMPLETED, states.ExperimentState.STOPPING_ERROR),
    *(TrialState.CANCELED, TrialState.COMPLETED, TrialState.ERROR, *Phase),
)
"""Every state that a filter may name."""


async def get_experiment_trials(call: Call, request: m.GetExperimentTrials) -> m.TrialsAnswer:
    """An experiment's trials."""
    await outline_of(call, request.experiment_id)
    found = await _queries(call).trials(
        call.scope,
        request.experiment_id,
        _phases(request.states),
        request.sort_by,
        descending=request.order_by is OrderBy.DESC,
        window=Window(request.offset, request.limit or LISTED),
    )
    trials = await shown(call.gateway.measured, found.rows)
    return m.TrialsAnswer(trials=trials, pagination=Pagination.of(found.page))


def _phases(asked: Iterable[ExperimentState]) -> frozenset[str]:
    """What trials in these states are shown as: an active one by how far its allocation has come. Raises InvalidConfig
    for a state that no trial has."""
    names = state_names([state.value for state in asked], STATES)
    return frozenset((*names, *(Phase if TrialState.ACTIVE in names else ())))


async def get_trial(call: Call, request: m.GetTrial) -> m.TrialAnswer:
    """One trial, with a summary of all its metrics."""
    return m.TrialAnswer(trial=await trial_of(call, request.trial_id))


async def trial_of(call: Call, trial_id: int) -> m.Trial:
    """The trial with a summary of all its metrics. Raises NotFound."""
    row = await _queries(call).trial(trial_id)
    if row is None:
        raise NotFound(f"trial {trial_id} not found")
    return await shown_in_full(call.gateway.measured, row)


async def kill_trial(call: Call, request: m.KillTrial) -> Empty:
    """End a trial at once."""
    experiment_id = await _queries(call).experiment_of(request.id)
    if experiment_id is None:
        raise NotFound(f"trial {request.id} not found")
    await call.send(KillTrial(experiment_id, request.id))
    return Empty()


def _queries(call: Call) -> TrialQueries:
    return call.gateway.ports.of(QUERIES)
