"""Which experiments an action on many acts on: those named by number, or those that filters find.

Filters that name no states find what the action is meant for: pausing finds active experiments, deleting those that
have ended. Filters that do name states find those, and the searcher then answers for each experiment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from resolute.api.call import Call
from resolute.api.experiments.action_messages import ActOnExperiments, Filters
from resolute.api.experiments.filters import kept_states
from resolute.api.experiments.queries import QUERIES, Wanted
from resolute.api.kernel.messages import given_in
from resolute.proto.states import FINISHED, RUNNING, STOPPING

ALL_PROJECTS = -1
"""In the path of an action on many."""

UNDELETED = (*RUNNING, *STOPPING, *FINISHED)


@dataclass(frozen=True, slots=True)
class MeantFor:
    """What an action on many is meant for."""

    states: tuple[str, ...] = UNDELETED
    """Those that filters find when they name no states."""
    archived: bool | None = None
    """Whether filters that do not say so find archived experiments only (true) or none of them (false)."""
    sees_archived: bool = True
    """Whether the action takes archived experiments at all. To others they are not found, however they are named."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The experiments to act on, in order, and the answers for those that were named and cannot be acted on."""

    ids: Sequence[int]
    refused: Mapping[int, str]


async def chosen(call: Call, request: ActOnExperiments, meant_for: MeantFor) -> Chosen:
    """Where there are filters, they alone decide. An empty filter beside ids is no filter."""
    filters, named = request.body.filters, tuple(dict.fromkeys(request.body.experiment_ids))
    if filters is not None and (given_in(filters) or not named):
        wanted = wanted_by(filters, request.project_id, meant_for)
        found = await call.gateway.ports.of(QUERIES).experiment_ids(call.scope, wanted) if wanted else ()
        return Chosen(found, {})
    known = await _known(call, named, request.project_id)
    if len(known) < len(named):
        await call.gateway.read.catch_up()  # one may have been made a moment ago, at another gateway
        known = await _known(call, named, request.project_id)
    problems = {one: _problem(one, known.get(one), request.project_id, meant_for) for one in named}
    return Chosen(
        tuple(one for one in named if not problems[one]),
        {one: problem for one, problem in problems.items() if problem},
    )


async def _known(call: Call, named: Sequence[int], project_id: int) -> Mapping[int, bool]:
    """By the numbers of those that are in the project: whether they are archived."""
    if project_id == 0:
        return {}  # there is no such project; to the query, 0 is every project
    in_project = 0 if project_id == ALL_PROJECTS else project_id
    return await call.gateway.ports.of(QUERIES).archived(call.scope, named, in_project)


def _problem(experiment_id: int, archived: bool | None, project_id: int, meant_for: MeantFor) -> str:
    """Why an experiment that was named is not acted on; empty where it is. `archived` is None for an unknown one."""
    if archived is None:
        where = "" if project_id == ALL_PROJECTS else f" in project {project_id}"
        return f"experiment {experiment_id} not found{where}"
    if archived and not meant_for.sees_archived:
        return f"experiment {experiment_id} not found: it is archived; unarchive it first"
    return ""


def wanted_by(filters: Filters, project_id: int, meant_for: MeantFor) -> Wanted | None:
    """What `filters` mean for such an action in this project; None where no experiment can fulfil them."""
    states = kept_states(filters.states) or sorted(meant_for.states)
    projects = {project_id, filters.project_id or ALL_PROJECTS} - {ALL_PROJECTS}
    archived = meant_for.archived if filters.archived is None else filters.archived
    if len(projects) > 1 or 0 in projects or (archived and not meant_for.sees_archived):
        return None
    return Wanted(
        archived=archived if meant_for.sees_archived else False,
        name_part=filters.name,
        description_part=filters.description,
        labels=filters.labels,
        owner_ids=filters.user_ids,
        project_id=next(iter(projects), 0),
        states=states,
        excluded_ids=filters.excluded_experiment_ids,
    )
