"""Experiments as answers have them. Other slices and the actions on experiments use `experiment_for`.

Environment variables go only to those who may read them: the owner, administrators, and the experiment's own tasks.
Everybody else gets masks in their place; every other secret is masked for everybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import orjson

from resolute.api.call import Call
from resolute.api.experiments.configurations import HAS_VARIABLES, Presented, both_without_secrets, for_wire
from resolute.api.experiments.messages import Experiment, ExperimentState
from resolute.api.experiments.progress import progress_of
from resolute.api.experiments.queries import QUERIES, ExperimentRow, Outline
from resolute.api.routing import READS_VARIABLES, Owned
from resolute.api.vault import only_variables
from resolute.config import changed, changed_yaml
from resolute.proto.errors import NotFound

STATES = {state.removeprefix("STATE_"): state for state in ExperimentState}
"""By its name in the tables, a state as the wire names it."""


async def experiment_for(call: Call, experiment_id: int) -> Experiment:
    """The experiment as the caller may see it. Raises NotFound."""
    row = await call.gateway.ports.of(QUERIES).experiment(experiment_id)
    if row is None:
        raise NotFound(f"experiment {experiment_id} not found")
    return presented(row, await _with_variables(call, row), row.trial_ids)


async def outline_of(call: Call, experiment_id: int) -> Outline:
    """The same for handlers that do something with it. Raises NotFound."""
    outline = await call.gateway.ports.of(QUERIES).outline(experiment_id)
    if outline is None:
        raise NotFound(f"experiment {experiment_id} not found")
    return outline


async def _with_variables(call: Call, row: ExperimentRow) -> Presented | None:
    """The configuration with its environment variables; None where it has none, or the caller may not read them."""
    experiment = Owned("experiment", str(row.id), owner_id=row.owner_id)
    if not call.may(READS_VARIABLES, experiment) or not HAS_VARIABLES.search(row.config):
        return None
    keys = await call.gateway.vault.keys_in(row.config + row.original_config)
    change = only_variables(keys.opened)
    config = for_wire(changed(orjson.loads(row.config), change))
    return orjson.Fragment(orjson.dumps(config)), await asyncio.to_thread(changed_yaml, row.original_config, change)


def presented(row: ExperimentRow, configuration: Presented | None = None, trial_ids: Sequence[int] = ()) -> Experiment:
    """`configuration`: where the caller may see more of it than everybody."""
    config, original = configuration or both_without_secrets(row.config, row.original_config)
    return Experiment(
        id=row.id,
        job_id=row.job_id,
        name=row.name,
        description=row.description,
        notes=row.notes,
        labels=row.labels,
        state=STATES[row.phase],
        archived=row.archived,
        start_time=row.started_at,
        end_time=row.ended_at,
        num_trials=row.trials,
        trial_ids=tuple(trial_ids),
        progress=_progress(row),
        forked_from=row.parent_id,
        resource_pool=row.resource_pool,
        searcher_type=row.searcher_type,
        searcher_metric=row.searcher_metric,
        hyperparameters=orjson.Fragment(row.hyperparameters or "{}"),
        config=config,
        original_config=original,
        unmanaged=row.unmanaged,
        checkpoint_count=row.checkpoints,
        checkpoint_size=row.checkpoint_bytes,
        username=row.owner,
        display_name=row.owner_display_name,
        user_id=row.owner_id,
        project_id=row.project_id,
        project_name=row.project,
        project_owner_id=row.project_owner_id,
        workspace_id=row.workspace_id,
        workspace_name=row.workspace,
        parent_archived=row.parent_archived,
        best_trial_id=row.best_trial_id,
        best_trial_searcher_metric=row.best_metric,
        duration=None if row.ended_at is None else int((row.ended_at - row.started_at).total_seconds()),
        state_reason=row.reason or None,
        external_experiment_id=row.external_id,
        model_definition_size=row.model_definition_bytes,
    )


def _progress(row: ExperimentRow) -> float | None:
    return progress_of(
        state=row.state,
        of_search=row.search_progress,
        of_trials=row.reported_progress,
        trials=row.trials,
        max_trials=row.max_trials,
    )
