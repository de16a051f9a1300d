"""Acting on many runs, named by id or found by a filter: each has an answer of its own, and the searcher decides.

To pause, resume or move a run is to do so with its search: a run of a search with several of them is not paused or
resumed alone. A search is moved once, however many of its runs are named.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from resolute.api.call import Call
from resolute.api.experiments.actions import EDIT, EDIT_METADATA, REMOVE
from resolute.api.experiments.changing import destination_of, into
from resolute.api.kernel.operations import operation
from resolute.api.pools.fit import check_usable
from resolute.api.runs.action_messages import (
    ArchiveRuns,
    KillRuns,
    MoveRuns,
    PauseRuns,
    ResumeRuns,
    RunActionResult,
    RunsArchived,
    RunSelection,
    RunsKilled,
    RunsMoved,
    RunsPaused,
    RunsResumed,
    RunsUnarchived,
    UnarchiveRuns,
)
from resolute.api.runs.column_queries import RUN_COLUMNS
from resolute.api.runs.filters import check_metrics, parse_filter
from resolute.api.runs.queries import QUERIES, RunRow, Search
from resolute.proto.errors import InvalidConfig, ResoluteError
from resolute.proto.experiment import (
    ActivateExperiment,
    ArchiveTrial,
    KillTrial,
    MoveExperiment,
    PauseExperiment,
    SearcherCommand,
    UnarchiveTrial,
)
from resolute.proto.states import ExperimentState

Act = Callable[[RunRow], Awaitable[str]]
"""Acts on a run; answers why it was not done, and nothing where it was."""


async def pause_runs(call: Call, request: PauseRuns) -> RunsPaused:
    """Let runs checkpoint, stop and give their slots back."""
    asked = request.body
    return RunsPaused(results=await _each(call, asked, asked.project_id, _alone(call, PauseExperiment)))


async def resume_runs(call: Call, request: ResumeRuns) -> RunsResumed:
    """Let runs run on from where they paused."""
    asked = request.body
    return RunsResumed(results=await _each(call, asked, asked.project_id, _alone(call, ActivateExperiment)))


def _alone(call: Call, make: Callable[[int], SearcherCommand]) -> Act:
    """Acts on the search of a run, if it is its only one."""

    async def act(run: RunRow) -> str:
        if run.trials > 1:
            return f"Cannot pause/unpause run '{run.id}' (part of multi-trial)."
        if run.archived:
            return "Run is archived."
        if make is ActivateExperiment and run.experiment_state == ExperimentState.PAUSED:
            path = f"experiment {run.experiment_id}: resources.resource_pool"
            await check_usable(call, path, run.resource_pool, run.workspace_id)
        await call.send(make(run.experiment_id), str(run.id))
        return ""

    return act


async def archive_runs(call: Call, request: ArchiveRuns) -> RunsArchived:
    """Put runs that have ended out of sight, one by one: their searches stay where they are."""
    asked = request.body
    return RunsArchived(results=await _each(call, asked, asked.project_id, _ended(call, ArchiveTrial)))


async def unarchive_runs(call: Call, request: UnarchiveRuns) -> RunsUnarchived:
    """Put archived runs back in sight. A filter finds archived runs here, whatever its `showArchived` says."""
    asked = request.body
    act = _ended(call, UnarchiveTrial)
    return RunsUnarchived(results=await _each(call, asked, asked.project_id, act, archived_too=True))


def _ended(call: Call, make: Callable[[int, int], SearcherCommand]) -> Act:
    """Acts on a run that has ended, and whose search is not archived as a whole."""

    async def act(run: RunRow) -> str:
        if run.ended_at is None:
            return "Run is not in terminal state."
        if run.search_archived:
            return f"Run is part of archived Search (id: '{run.experiment_id}')."
        await call.send(make(run.experiment_id, run.id), str(run.id))
        return ""

    return act


async def kill_runs(call: Call, request: KillRuns) -> RunsKilled:
    """End runs at once. One that has ended already stays as it is."""

    async def act(run: RunRow) -> str:
        if run.ended_at is None:
            await call.send(KillTrial(run.experiment_id, run.id), str(run.id))
        return ""

    return RunsKilled(results=await _each(call, request.body, request.body.project_id, act))


async def move_runs(call: Call, request: MoveRuns) -> RunsMoved:
    """Move the searches of runs to another project, each with all its runs."""
    asked = request.body
    project_id = await destination_of(call, asked.destination_project_id)
    moved: dict[int, str] = {}
    """What came of it for each search."""

    async def act(run: RunRow) -> str:
        if run.archived:
            return "Run is archived."
        if asked.skip_multitrial and run.trials > 1:
            return f"Skipping run '{run.id}' (part of multi-trial)."
        if run.experiment_id not in moved:
            moved[run.experiment_id] = await _moved(call, run.experiment_id, project_id)
        return moved[run.experiment_id]

    return RunsMoved(results=await _each(call, asked, asked.source_project_id, act))


async def _moved(call: Call, experiment_id: int, project_id: int) -> str:
    try:
        await call.send(MoveExperiment(experiment_id, project_id), str(experiment_id))
    except ResoluteError as error:
        return error.message
    return ""


# ---------------------------------------------------------------- which runs


async def _each(
    call: Call, asked: RunSelection, project_id: int, act: Act, *, archived_too: bool = False
) -> tuple[RunActionResult, ...]:
    """What came of it for each run that is named, in the order of the request, or found, in the order of ids."""
    ids = await _chosen(call, asked, project_id, archived_too)
    rows = await _rows(call, ids, project_id)
    missing = "Run with id '{}' not found" + (f" in project with id '{project_id}'" if project_id else "")
    results = []
    for one in ids:
        error = await _done(act, rows[one]) if one in rows else missing.format(one)
        results.append(RunActionResult(id=one, error=error))
    return tuple(results)


async def _done(act: Act, run: RunRow) -> str:
    try:
        return await act(run)
    except ResoluteError as error:
        return error.message


async def _chosen(call: Call, asked: RunSelection, project_id: int, archived_too: bool) -> Sequence[int]:
    """`archived_too`: whether a filter finds archived runs even where it does not say so. Raises InvalidConfig for a
    request that has a filter and ids."""
    if asked.filter is None:
        return tuple(dict.fromkeys(asked.run_ids))
    if not asked.filter.strip():
        raise InvalidConfig(
            "filter: expected a filter; found an empty text, which would mean every run. A filter without conditions "
            'says that on purpose: {"filterGroup": {"kind": "group", "children": [], "conjunction": "and"}}'
        )
    if asked.run_ids:
        raise InvalidConfig("runIds, filter: expected one of them; if a filter is provided the list must be empty")
    wanted = parse_filter(asked.filter, RUN_COLUMNS)
    check_metrics(wanted.filter, ())
    wanted = replace(wanted, archived_too=wanted.archived_too or archived_too)
    return await call.gateway.ports.of(QUERIES).run_ids(call.scope, Search(wanted, project_id=project_id))


async def _rows(call: Call, ids: Sequence[int], project_id: int) -> dict[int, RunRow]:
    queries = call.gateway.ports.of(QUERIES)
    found = await queries.runs_of(call.scope, ids, project_id)
    if len(found) < len(ids):
        await call.gateway.read.catch_up()  # one may have been made a moment ago, at another gateway
        found = await queries.runs_of(call.scope, ids, project_id)
    return {row.id: row for row in found}


TAG = "Internal"
ACT, PUT_AWAY = EDIT.over_scope(), EDIT_METADATA.over_scope()

ACTIONS = (
    operation(
        "PauseRuns",
        "POST",
        "/api/v1/runs/pause",
        pause_runs,
        ACT,
        request=PauseRuns,
        response=RunsPaused,
        tag=TAG,
    ),
    operation(
        "ResumeRuns",
        "POST",
        "/api/v1/runs/resume",
        resume_runs,
        ACT,
        request=ResumeRuns,
        response=RunsResumed,
        tag=TAG,
    ),
    operation(
        "ArchiveRuns",
        "POST",
        "/api/v1/runs/archive",
        archive_runs,
        PUT_AWAY,
        request=ArchiveRuns,
        response=RunsArchived,
        tag=TAG,
    ),
    operation(
        "UnarchiveRuns",
        "POST",
        "/api/v1/runs/unarchive",
        unarchive_runs,
        PUT_AWAY,
        request=UnarchiveRuns,
        response=RunsUnarchived,
        tag=TAG,
    ),
    operation(
        "KillRuns",
        "POST",
        "/api/v1/runs/kill",
        kill_runs,
        ACT,
        request=KillRuns,
        response=RunsKilled,
        tag=TAG,
    ),
    operation(
        "MoveRuns",
        "POST",
        "/api/v1/runs/move",
        move_runs,
        into(REMOVE.over_scope()),
        request=MoveRuns,
        response=RunsMoved,
        tag=TAG,
    ),
)
