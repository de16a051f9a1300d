"""The reactions that delete what is in workspaces and projects that are being deleted.

A workspace is gone when its projects are, and a project when its experiments are. The searcher deletes an experiment,
with its checkpoints, metrics and logs; one that still runs is killed first. Every step is taken because of an event, so
that a deletion goes on where it was after any process was killed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Protocol

from resolute.directory import projects, workspaces
from resolute.directory.spaces import Workspaces
from resolute.eventlog import EventLog, Sought
from resolute.proto.errors import NotFound, Refused
from resolute.proto.experiment import (
    DeleteExperiment,
    ExperimentCreated,
    ExperimentDeleted,
    ExperimentDeletionFailed,
    ExperimentEnded,
    ExperimentMoved,
    KillExperiment,
    SearcherCommand,
)
from resolute.proto.message import Cause, Event, Recorded, Reply
from resolute.proto.spaces import (
    ProjectDeleted,
    ProjectDeletionFailed,
    ProjectDeletionRequested,
    ProjectExperimentsFound,
    WorkspaceDeletionRequested,
)
from resolute.proto.streams import key_of

PAGE = 5_000

PLACES = (ExperimentCreated.__name__, ExperimentMoved.__name__, ExperimentDeleted.__name__)
"""The events that say in which project an experiment is."""


class Requests(Protocol):
    """The bus, as far as a deletion needs it."""

    async def request(self, command: SearcherCommand, cause: Cause, /) -> Reply: ...


class Spaces(Protocol):
    """The directory, as far as a deletion needs it."""

    async def spaces(self) -> Workspaces: ...

    async def about_spaces(self, decide: Callable[[Workspaces], Sequence[Event]], cause: Cause) -> None:
        """Append what `decide` answers; once for each cause."""

    async def models_in(self, workspace_id: int) -> int: ...

    async def remove_contents(self, workspace_id: int, cause: Cause) -> None: ...


class Deletion:
    def __init__(self, log: EventLog, bus: Requests, directory: Spaces) -> None:
        self._log, self._bus, self._directory = log, bus, directory

    async def react(self, recorded: Recorded) -> None:
        """Handles one event: a step of a deletion, or an experiment that came, ended or was deleted."""
        event, cause = recorded.event, recorded.cause_of_reactions
        match event:
            case WorkspaceDeletionRequested(workspace_id=workspace_id):
                await self._empty(workspace_id, cause)
            case ProjectDeletionRequested(project_id=project_id):
                await self._look_for_experiments(project_id, cause)
            case ProjectExperimentsFound(experiments=experiments):
                for experiment_id in experiments:
                    await self._delete(experiment_id, cause)
            case ProjectDeleted() | ProjectDeletionFailed():
                await self._tell_workspaces(event, cause)
            case ExperimentCreated() | ExperimentMoved() | ExperimentEnded():
                await self._of_experiment(int(recorded.key), event, cause)
            case ExperimentDeleted() | ExperimentDeletionFailed():
                await self._of_experiment(int(recorded.key), event, cause)

    async def _empty(self, workspace_id: int, cause: Cause) -> None:
        await self._directory.remove_contents(workspace_id, cause)
        await self._directory.about_spaces(
            lambda spaces: workspaces.delete_projects(spaces, workspace_id), cause.then("projects")
        )
        await self._finish(workspace_id, cause)

    async def _finish(self, workspace_id: int, cause: Cause) -> None:
        models = await self._directory.models_in(workspace_id)
        await self._directory.about_spaces(
            lambda spaces: workspaces.finish_deletion(spaces, workspace_id, models),
            cause.then(f"finish-{workspace_id}"),
        )

    async def _look_for_experiments(self, project_id: int, cause: Cause) -> None:
        found = await self._experiments_in(project_id)
        await self._directory.about_spaces(
            lambda spaces: projects.experiments_found(spaces, project_id, found), cause.then("found")
        )

    async def _experiments_in(self, project_id: int) -> set[int]:
        """The experiments that are in the project now. The whole log is walked, which is rare enough."""
        found: set[int] = set()
        position = 0
        while rows := await self._log.find(Sought(after=position, types=PLACES), PAGE):
            for row in rows:
                experiment_id = int(key_of(row.stream))
                if json.loads(row.data).get("project_id") == project_id:
                    found.add(experiment_id)
                else:
                    found.discard(experiment_id)
            position = rows[-1].position
        return found

    async def _of_experiment(self, experiment_id: int, event: Event, cause: Cause) -> None:
        spaces = await self._directory.spaces()
        match event:
            case ExperimentCreated(project_id=project_id) | ExperimentMoved(project_id=project_id):
                if projects.experiment_came(spaces, project_id, experiment_id):
                    await self._directory.about_spaces(
                        lambda spaces: projects.experiment_came(spaces, project_id, experiment_id), cause.then("came")
                    )
            case ExperimentEnded() if experiment_id in spaces.leaving:
                await self._delete(experiment_id, cause)
            case ExperimentDeletionFailed(reason=reason) if experiment_id in spaces.leaving:
                await self._directory.about_spaces(
                    lambda spaces: projects.deletion_failed(spaces, experiment_id, reason), cause.then("failed")
                )
            case ExperimentDeleted() if experiment_id in spaces.leaving:
                await self._note_gone(experiment_id, cause)

    async def _note_gone(self, experiment_id: int, cause: Cause) -> None:
        await self._directory.about_spaces(
            lambda spaces: projects.experiment_gone(spaces, experiment_id), cause.then(f"gone-{experiment_id}")
        )

    async def _delete(self, experiment_id: int, cause: Cause) -> None:
        """One that has not ended is killed, and deleted when it has ended."""
        cause = cause.then(f"of/{experiment_id}")
        try:
            await self._bus.request(DeleteExperiment(experiment_id), cause.then("delete"))
        except NotFound:
            await self._note_gone(experiment_id, cause)
        except Refused:
            await self._bus.request(KillExperiment(experiment_id), cause.then("kill"))

    async def _tell_workspaces(self, event: ProjectDeleted | ProjectDeletionFailed, cause: Cause) -> None:
        """A workspace that is being deleted goes with its last project, and waits for a person where one fails."""
        spaces = await self._directory.spaces()
        if isinstance(event, ProjectDeleted):
            for workspace_id in list(spaces.by_id):
                if workspaces.is_being_deleted(spaces, workspace_id):
                    await self._finish(workspace_id, cause)
            return
        project = spaces.projects.get(event.project_id)
        if project is not None and workspaces.is_being_deleted(spaces, project.workspace_id):
            why = f"project {project.name!r}: {event.reason}"
            await self._directory.about_spaces(
                lambda spaces: workspaces.deletion_failed(spaces, project.workspace_id, why), cause.then("failed")
            )
