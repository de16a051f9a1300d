"""The messages about trials that run outside of the cluster."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from resolute.api.kernel.common import Id
from resolute.api.kernel.fields import Flag, JsonObject, Needed, OrAbsent, text
from resolute.api.kernel.messages import InBody, InPath, Input, Message, Request
from resolute.api.trials.messages import Trial, TrialState

ExternalId: TypeAlias = Annotated[str, text(200)]
"""Chosen by a client: letters, digits and `. _ : @ + -`."""


class NewTrial(Input, wire_name="v1CreateTrialRequest"):
    experiment_id: Id = 0
    """An unmanaged experiment."""
    hparams: JsonObject | None = None
    unmanaged: Flag = False
    """Only true is accepted: the cluster creates the trials that it runs itself."""


class CreateTrial(Request):
    body: InBody[NewTrial]


class CreatedTrialAnswer(Message, wire_name="v1CreateTrialResponse"):
    trial: Trial


class NamedTrial(Input, wire_name="v1PutTrialRequest"):
    create_trial_request: NewTrial | None = None
    external_trial_id: ExternalId = ""
    """Unique within the experiment."""


class PutTrial(Request):
    body: InBody[NamedTrial]


class PutTrialAnswer(Message, wire_name="v1PutTrialResponse"):
    trial: Trial


class TrialStart(Input, wire_name="v1StartTrialRequest"):
    trial_id: Needed[Id] = 0
    """The trial in the path counts."""
    resume: Flag = False
    """Whether the trial may have been started before: then it goes on from its latest checkpoint."""


class StartTrial(Request):
    trial_id: InPath[Id]
    body: InBody[TrialStart]


class StartedTrialAnswer(Message, wire_name="v1StartTrialResponse"):
    steps_completed: int
    trial_run_id: int
    latest_checkpoint: OrAbsent[str] = None
    """From the second run on: what the trial goes on from."""


class TrialPatch(Input, wire_name="v1PatchTrialRequest"):
    trial_id: Needed[Id] = 0
    """The trial in the path counts."""
    state: TrialState | None = None
    """ACTIVE, RUNNING, PAUSED, COMPLETED, CANCELED or ERROR. A request without it is a heartbeat alone."""


class PatchTrial(Request):
    trial_id: InPath[Id]
    body: InBody[TrialPatch]


class PatchedTrialAnswer(Message, wire_name="v1PatchTrialResponse"):
    trial: Trial


class GetTrialByExternalId(Request):
    external_experiment_id: InPath[ExternalId]
    external_trial_id: InPath[ExternalId]


class FoundTrialAnswer(Message, wire_name="v1GetTrialByExternalIDResponse"):
    trial: Trial
