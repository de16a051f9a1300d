"""Listing and describing checkpoints."""

from __future__ import annotations

from resolute.api.call import Call
from resolute.api.checkpoints.messages import (
    Checkpoint,
    CheckpointAnswer,
    ExperimentCheckpointsAnswer,
    GetCheckpoint,
    GetExperimentCheckpoints,
    GetTrialCheckpoints,
    TrialCheckpointsAnswer,
)
from resolute.api.checkpoints.queries import QUERIES, CheckpointQueries, CheckpointRow, Order, Wanted
from resolute.api.checkpoints.shown import shown
from resolute.api.kernel.common import OrderBy, Pagination
from resolute.api.kernel.listing import state_names
from resolute.api.kernel.paging import Listed, Window
from resolute.proto.errors import NotFound
from resolute.proto.states import CheckpointState


async def get_experiment_checkpoints(call: Call, request: GetExperimentCheckpoints) -> ExperimentCheckpointsAnswer:
    """An experiment's checkpoints, by state, in any order; `SORT_BY_SEARCHER_METRIC` puts the best first."""
    if not await _queries(call).has_experiment(request.id):
        raise NotFound(f"experiment {request.id} not found")
    wanted = Wanted(experiment_id=request.id, states=_states(request))
    found = await _listed(call, request, wanted)
    return ExperimentCheckpointsAnswer(checkpoints=tuple(map(shown, found.rows)), pagination=Pagination.of(found.page))


async def get_trial_checkpoints(call: Call, request: GetTrialCheckpoints) -> TrialCheckpointsAnswer:
    """A trial's checkpoints, likewise."""
    if not await _queries(call).has_trial(request.id):
        raise NotFound(f"trial {request.id} not found")
    found = await _listed(call, request, Wanted(trial_id=request.id, states=_states(request)))
    return TrialCheckpointsAnswer(checkpoints=tuple(map(shown, found.rows)), pagination=Pagination.of(found.page))


async def get_checkpoint(call: Call, request: GetCheckpoint) -> CheckpointAnswer:
    """One checkpoint: files, metadata, metrics, and where it is stored."""
    return CheckpointAnswer(checkpoint=await checkpoint_of(call, request.checkpoint_uuid))


async def checkpoint_of(call: Call, uuid: str) -> Checkpoint:
    """Raises NotFound."""
    found = await _queries(call).checkpoint(uuid)
    if found is None:
        raise NotFound(f"checkpoint {uuid} not found")
    return shown(found)


def _queries(call: Call) -> CheckpointQueries:
    return call.gateway.ports.of(QUERIES)


async def _listed(call: Call, request: GetExperimentCheckpoints, wanted: Wanted) -> Listed[CheckpointRow]:
    order = Order(request.sort_by_attr, request.sort_by_metric, descending=request.order_by is OrderBy.DESC)
    return await _queries(call).checkpoints(call.scope, wanted, order, Window(request.offset, request.limit))


def _states(request: GetExperimentCheckpoints) -> tuple[CheckpointState, ...]:
    """Raises InvalidConfig for STATE_UNSPECIFIED, in which no checkpoint is."""
    return tuple(CheckpointState(name) for name in state_names(request.states, tuple(CheckpointState)))
