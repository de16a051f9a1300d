"""The messages about submitting experiments, and about continuing those that have ended."""

from __future__ import annotations

from typing import Annotated

from resolute.api.experiments.messages import Experiment
from resolute.api.kernel.common import Id, Name
from resolute.api.kernel.fields import INT64, Flag, Needed, StoredObject, WireEnum, base64_text, items, text, whole
from resolute.api.kernel.messages import InBody, InPath, Input, Message, Request


class LaunchWarning(WireEnum, wire_name="v1LaunchWarning"):
    UNSPECIFIED = "LAUNCH_WARNING_UNSPECIFIED"
    CURRENT_SLOTS_EXCEEDED = "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"
    """A trial needs more slots than the pool has now."""


class File(Input, wire_name="v1File"):
    """An entry of a context directory: a file, a directory, or a link, whose content is its target."""

    content: Needed[Annotated[str, base64_text(134_217_728)]] = ""
    gid: Needed[Id] = 0
    mode: Needed[Id] = 0
    mtime: Needed[Annotated[int, INT64]] = 0
    path: Needed[Annotated[str, text(4096)]] = ""
    type: Needed[Id] = 0
    uid: Needed[Id] = 0


class Submission(Input, wire_name="v1CreateExperimentRequest"):
    activate: Flag = True
    config: Annotated[str, text(8_388_608)] = ""
    """YAML."""
    model_definition: Annotated[tuple[File, ...], items(100_000)] = ()
    """The context directory. Without it, that of the parent."""
    parent_id: Id = 0
    """The experiment that this one is forked from."""
    project_id: Annotated[int, whole(least=-1)] = 0
    """Goes before the project that the configuration names."""
    template: Name = ""
    unmanaged: Flag = False
    """Its trials run outside of the cluster."""
    validate_only: Flag = False
    """The submission is checked, and nothing is made."""


class CreateExperiment(Request):
    body: InBody[Submission]


class CreatedExperimentAnswer(Message, wire_name="v1CreateExperimentResponse"):
    config: StoredObject
    experiment: Experiment
    config_warnings: tuple[str, ...] = ()
    """Fields of the configuration that have no effect here, and what the entrypoint lacks."""
    warnings: tuple[LaunchWarning, ...] = ()


class PutExperiment(Request):
    external_experiment_id: InPath[Annotated[str, text(200)]]
    """Unique in the cluster."""
    body: InBody[Submission]


class PutExperimentAnswer(Message, wire_name="v1PutExperimentResponse"):
    config: StoredObject
    experiment: Experiment


class Continuation(Input, wire_name="v1ContinueExperimentRequest"):
    id: Needed[Id | None] = None
    override_config: Annotated[str, text(1_048_576)] = ""
    """YAML, which goes before the configuration that the experiment has."""


class ContinueExperiment(Request):
    body: InBody[Continuation]


class ContinuedExperimentAnswer(Message, wire_name="v1ContinueExperimentResponse"):
    experiment: Experiment
    config_warnings: tuple[str, ...] = ()
    warnings: tuple[LaunchWarning, ...] = ()
