"""The messages about acting on experiments: their lives, their settings, their labels, and their projects."""

from __future__ import annotations

from typing import Annotated

from resolute.api.experiments.messages import Experiment, ExperimentState
from resolute.api.kernel.common import Id, Name
from resolute.api.kernel.fields import Flag, Needed, OrAbsent, items, number, text, whole
from resolute.api.kernel.messages import InBody, InPath, Input, Message, Request

ProjectId = Annotated[int, whole(least=-1)]
"""-1 is every project."""
Ids = Annotated[tuple[Annotated[int, whole(least=1)], ...], items(10_000)]
Labels = Annotated[tuple[Name, ...], items(1000)]
Days = Annotated[int, whole()]
"""-1 is for ever."""

# ---------------------------------------------------------------- one experiment


class ActOnExperiment(Request):
    id: InPath[Id]


class ExperimentDeletion(Request):
    experiment_id: InPath[Id]


class ExperimentLabel(Request):
    experiment_id: InPath[Id]
    label: InPath[Name]


class AddedLabelAnswer(Message, wire_name="v1PutExperimentLabelResponse"):
    labels: tuple[str, ...]
    """All that the experiment has now."""


class RemovedLabelAnswer(AddedLabelAnswer, wire_name="v1DeleteExperimentLabelResponse"):
    pass


class Destination(Input, wire_name="v1MoveExperimentRequest"):
    destination_project_id: Needed[Id | None] = None
    experiment_id: Needed[Id] = 0
    """The experiment in the path counts."""


class ExperimentMove(Request):
    experiment_id: InPath[Id]
    body: InBody[Destination]


class LogRetention(Input, wire_name="v1PutExperimentRetainLogsRequest"):
    num_days: Needed[Days | None] = None
    experiment_id: Needed[Id] = 0
    """The experiment in the path counts."""


class RetainLogs(Request):
    experiment_id: InPath[Id]
    body: InBody[LogRetention]


class ResourcesChange(Input, wire_name="PatchExperimentPatchResources"):
    max_slots: Id | None = None
    """Null is no limit."""
    priority: Annotated[int, whole()] | None = None
    resource_pool: Name | None = None
    weight: Annotated[float, number()] | None = None


class StorageChange(Input, wire_name="PatchExperimentPatchCheckpointStorage"):
    save_experiment_best: Id | None = None
    save_trial_best: Id | None = None
    save_trial_latest: Id | None = None


class ExperimentChange(Input, wire_name="v1PatchExperiment"):
    id: Needed[Id] = 0
    """The experiment in the path counts."""
    checkpoint_storage: StorageChange | None = None
    description: Annotated[str, text(65_536)] | None = None
    labels: Labels | None = None
    max_restarts: Id | None = None
    name: Name | None = None
    notes: Annotated[str, text(1_048_576)] | None = None
    resources: ResourcesChange | None = None


class PatchExperiment(Request):
    experiment_id: InPath[Id]
    body: InBody[ExperimentChange]


class ChangedExperimentAnswer(Message, wire_name="v1PatchExperimentResponse"):
    experiment: OrAbsent[Experiment]


# ---------------------------------------------------------------- many experiments


class Filters(Input, wire_name="v1BulkExperimentFilters"):
    """What is empty, null or left out is no condition."""

    archived: Flag | None = None
    description: Annotated[str, text(65_536)] = ""
    """A part of the description, in any case of letters."""
    excluded_experiment_ids: Ids = ()
    labels: Labels = ()
    """All of which an experiment has."""
    name: Name = ""
    """A part of the name, in any case of letters."""
    project_id: ProjectId = 0
    states: Annotated[tuple[ExperimentState, ...], items(100_000)] = ()
    user_ids: Ids = ()
    """Of the owners."""


class Selection(Input):
    """Experiments by number, or by filters. Where there are filters, the numbers do not count."""

    experiment_ids: Needed[Ids] = ()
    project_id: Needed[ProjectId] = 0
    """The project in the path counts."""
    filters: Filters | None = None


class ActOnExperiments(Request):
    project_id: InPath[ProjectId]
    body: InBody[Selection]


class ActionResult(Message, wire_name="v1ExperimentActionResult"):
    error: str
    """Empty where the action was taken."""
    id: int


class ActionResults(Message):
    results: tuple[ActionResult, ...]


class ToActivate(Selection, wire_name="v1ActivateExperimentsRequest"):
    pass


class ActivateExperiments(ActOnExperiments):
    body: InBody[ToActivate]


class Activated(ActionResults, wire_name="v1ActivateExperimentsResponse"):
    pass


class ToPause(Selection, wire_name="v1PauseExperimentsRequest"):
    pass


class PauseExperiments(ActOnExperiments):
    body: InBody[ToPause]


class Paused(ActionResults, wire_name="v1PauseExperimentsResponse"):
    pass


class ToCancel(Selection, wire_name="v1CancelExperimentsRequest"):
    pass


class CancelExperiments(ActOnExperiments):
    body: InBody[ToCancel]


class Canceled(ActionResults, wire_name="v1CancelExperimentsResponse"):
    pass


class ToKill(Selection, wire_name="v1KillExperimentsRequest"):
    pass


class KillExperiments(ActOnExperiments):
    body: InBody[ToKill]


class Killed(ActionResults, wire_name="v1KillExperimentsResponse"):
    pass


class ToArchive(Selection, wire_name="v1ArchiveExperimentsRequest"):
    pass


class ArchiveExperiments(ActOnExperiments):
    body: InBody[ToArchive]


class Archived(ActionResults, wire_name="v1ArchiveExperimentsResponse"):
    pass


class ToUnarchive(Selection, wire_name="v1UnarchiveExperimentsRequest"):
    pass


class UnarchiveExperiments(ActOnExperiments):
    body: InBody[ToUnarchive]


class Unarchived(ActionResults, wire_name="v1UnarchiveExperimentsResponse"):
    pass


class ToDelete(Selection, wire_name="v1DeleteExperimentsRequest"):
    pass


class DeleteExperiments(ActOnExperiments):
    body: InBody[ToDelete]


class Deleted(ActionResults, wire_name="v1DeleteExperimentsResponse"):
    pass


class ToMove(Selection, wire_name="v1MoveExperimentsRequest"):
    destination_project_id: Needed[Id | None] = None


class MoveExperiments(ActOnExperiments):
    body: InBody[ToMove]


class Moved(ActionResults, wire_name="v1MoveExperimentsResponse"):
    pass


class ToRetainLogs(Selection, wire_name="v1PutExperimentsRetainLogsRequest"):
    num_days: Needed[Days | None] = None


class RetainLogsOfExperiments(ActOnExperiments):
    body: InBody[ToRetainLogs]


class LogsRetained(ActionResults, wire_name="v1PutExperimentsRetainLogsResponse"):
    pass
