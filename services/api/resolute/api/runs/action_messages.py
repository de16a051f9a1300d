"""The messages about acting on many runs."""

from __future__ import annotations

from typing import Annotated

from resolute.api.kernel.common import Id
from resolute.api.kernel.fields import Flag, Needed, items, whole
from resolute.api.kernel.messages import InBody, Input, Message, Request
from resolute.api.runs.messages import FilterText

RunIds = Annotated[tuple[Annotated[int, whole(least=1)], ...], items(10_000)]


class RunSelection(Input):
    """Runs by id, or by a filter."""

    run_ids: Needed[RunIds] = ()
    filter: FilterText | None = None
    """As of `SearchRuns`."""


class InProject(RunSelection):
    project_id: Needed[Id] = 0
    """The project of the runs; 0 is every project."""


class RunActionResult(Message, wire_name="v1RunActionResult"):
    error: str
    """Empty where the action was taken."""
    id: int


class RunActionResults(Message):
    results: tuple[RunActionResult, ...]


class ToPauseRuns(InProject, wire_name="v1PauseRunsRequest"):
    pass


class PauseRuns(Request):
    body: InBody[ToPauseRuns]


class RunsPaused(RunActionResults, wire_name="v1PauseRunsResponse"):
    pass


class ToResumeRuns(InProject, wire_name="v1ResumeRunsRequest"):
    pass


class ResumeRuns(Request):
    body: InBody[ToResumeRuns]


class RunsResumed(RunActionResults, wire_name="v1ResumeRunsResponse"):
    pass


class ToArchiveRuns(InProject, wire_name="v1ArchiveRunsRequest"):
    pass


class ArchiveRuns(Request):
    body: InBody[ToArchiveRuns]


class RunsArchived(RunActionResults, wire_name="v1ArchiveRunsResponse"):
    pass


class ToUnarchiveRuns(InProject, wire_name="v1UnarchiveRunsRequest"):
    pass


class UnarchiveRuns(Request):
    body: InBody[ToUnarchiveRuns]


class RunsUnarchived(RunActionResults, wire_name="v1UnarchiveRunsResponse"):
    pass


class ToKillRuns(RunSelection, wire_name="v1KillRunsRequest"):
    project_id: Id = 0
    """The project of the runs; 0 is every project."""


class KillRuns(Request):
    body: InBody[ToKillRuns]


class RunsKilled(RunActionResults, wire_name="v1KillRunsResponse"):
    pass


class ToMoveRuns(RunSelection, wire_name="v1MoveRunsRequest"):
    source_project_id: Needed[Id] = 0
    """The project of the runs; 0 is every project."""
    destination_project_id: Needed[Id | None] = None
    skip_multitrial: Flag = False
    """Leave out the runs of searches with several of them."""


class MoveRuns(Request):
    body: InBody[ToMoveRuns]


class RunsMoved(RunActionResults, wire_name="v1MoveRunsResponse"):
    pass
