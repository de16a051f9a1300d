"""Which experiments an action on many acts on: those named by number, or those that filters find.

Filters that name no states find what the action is meant for: pausing finds active experiments, deleting those that
have ended. Filters that do name states find those, and the searcher then answers for each experiment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resolute.api.call import Call
from resolute.api.experiments.filters import STATES
from resolute.api.scope import Scope
from resolute.api.views.experiments import COUNT, TEXTS, kept_as, narrow
from resolute.api.views.listing import OF_PROJECT, Where, state_names
from resolute.proto.states import FINISHED, RUNNING, STOPPING

ALL_PROJECTS = -1
"""In the path of an action on many."""

UNDELETED = (*RUNNING, *STOPPING, *FINISHED)

KNOWN = "SELECT id, archived FROM read_experiments.experiments"


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

    ids: tuple[int, ...]
    refused: Mapping[int, str]


async def chosen(call: Call, meant_for: MeantFor) -> Chosen:
    """Where there are filters, they alone decide. An empty filter beside ids is no filter."""
    filters, named = call.body.get("filters"), list(dict.fromkeys(call.body.get("experimentIds") or []))
    project_id = call.int("projectId")
    if filters or (filters is not None and not named):
        return Chosen(await _found(call, found_by(call.scope, filters, project_id, meant_for)), {})
    known = await _known(call, named, project_id)
    if len(known) < len(named):
        await call.gateway.read.catch_up()  # one may have been made a moment ago, at another gateway
        known = await _known(call, named, project_id)
    problems = {one: _problem(one, known.get(one), project_id, meant_for) for one in named}
    return Chosen(
        tuple(one for one in named if not problems[one]),
        {one: problem for one, problem in problems.items() if problem},
    )


async def _known(call: Call, named: Sequence[int], project_id: int) -> Mapping[int, bool]:
    """By the numbers of those that are in the project: whether they are archived."""
    where = Where(call.scope, OF_PROJECT.format("project_id"))
    where.add("id = ANY(?::bigint[])", named)
    if project_id != ALL_PROJECTS:
        where.add("project_id = ?", project_id)
    return {row["id"]: row["archived"] for row in await call.gateway.read.rows(KNOWN + where.sql, *where.args)}


def _problem(experiment_id: int, archived: bool | None, project_id: int, meant_for: MeantFor) -> str:
    """Why an experiment that was named is not acted on; empty where it is. `archived` is None for an unknown one."""
    if archived is None:
        where = "" if project_id == ALL_PROJECTS else f" in project {project_id}"
        return f"experiment {experiment_id} not found{where}"
    if archived and not meant_for.sees_archived:
        return f"experiment {experiment_id} not found: it is archived; unarchive it first"
    return ""


async def _found(call: Call, where: Where) -> tuple[int, ...]:
    found = await call.gateway.read.rows(COUNT.replace("count(*)", "e.id") + where.sql + " ORDER BY e.id", *where.args)
    return tuple(row["id"] for row in found)


def found_by(scope: Scope, filters: Mapping[str, Any], project_id: int, meant_for: MeantFor) -> Where:
    """The conditions that `filters` mean, for such an action in this project."""
    where = Where(scope, "p.workspace_id")
    for one in sorted({project_id, filters.get("projectId") or ALL_PROJECTS} - {ALL_PROJECTS}):
        where.add("e.project_id = ?", one)
    _archived(where, filters.get("archived"), meant_for)
    narrow(where, {column: filters.get(column) for column in TEXTS}, filters.get("labels"), filters.get("userIds"))
    if excluded := filters.get("excludedExperimentIds"):
        where.add("e.id <> ALL(?::bigint[])", excluded)
    named = kept_as(state_names(filters.get("states") or [], STATES))
    where.add("e.state = ANY(?::text[])", named or sorted(meant_for.states))
    return where


def _archived(where: Where, asked: bool | None, meant_for: MeantFor) -> None:
    if not meant_for.sees_archived:
        where.plain("NOT e.archived")
    wanted = meant_for.archived if asked is None else asked
    if wanted is not None:
        where.add("e.archived = ?", wanted)
