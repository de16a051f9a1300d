"""Trials that run outside of the cluster: clients create and start them, say how they stand, and send heartbeats."""

from __future__ import annotations

import re
from uuid import uuid4

import orjson

from resolute.api.call import Call
from resolute.api.measures.metrics import json_text
from resolute.api.trials import lookup
from resolute.api.trials.lookup_queries import TrialRef
from resolute.api.trials.messages import Trial, TrialState
from resolute.api.trials.outside_messages import (
    CreatedTrialAnswer,
    CreateTrial,
    FoundTrialAnswer,
    GetTrialByExternalId,
    NewTrial,
    PatchedTrialAnswer,
    PatchTrial,
    PutTrial,
    PutTrialAnswer,
    StartedTrialAnswer,
    StartTrial,
)
from resolute.api.trials.queries import QUERIES
from resolute.api.trials.reading import trial_of
from resolute.proto import states
from resolute.proto.errors import Forbidden, InvalidConfig, NotFound, refuse
from resolute.proto.experiment import CreateUnmanagedTrial, SetUnmanagedTrialState, StartUnmanagedTrial

EXTERNAL_ID = re.compile(r"[A-Za-z0-9._:@+-]+", re.ASCII)

STATES = {
    TrialState.ACTIVE: states.TrialState.ACTIVE,
    TrialState.RUNNING: states.TrialState.ACTIVE,
    TrialState.PAUSED: states.TrialState.PAUSED,
    TrialState.COMPLETED: states.TrialState.COMPLETED,
    TrialState.CANCELED: states.TrialState.CANCELED,
    TrialState.ERROR: states.TrialState.ERROR,
}
"""Those that a client may set, and what they are to the searcher."""


async def create_trial(call: Call, request: CreateTrial) -> CreatedTrialAnswer:
    """Create a trial that runs outside of the cluster."""
    return CreatedTrialAnswer(trial=await _created(call, request.body, str(uuid4())))


async def put_trial(call: Call, request: PutTrial) -> PutTrialAnswer:
    """Create such a trial under an external id, or answer the trial that has this id already."""
    name = request.body.external_trial_id
    if not EXTERNAL_ID.fullmatch(name):
        raise InvalidConfig(f"externalTrialId: expected letters, digits and . _ : @ + -; found {name!r}")
    if request.body.create_trial_request is None:
        raise InvalidConfig("createTrialRequest: expected an object with experimentId, hparams and unmanaged")
    return PutTrialAnswer(trial=await _created(call, request.body.create_trial_request, name, "createTrialRequest."))


async def get_trial_by_external_id(call: Call, request: GetTrialByExternalId) -> FoundTrialAnswer:
    """A trial that runs outside of the cluster, by the ids that its creator gave to the experiment and to the trial."""
    experiment, trial = request.external_experiment_id, request.external_trial_id
    found = await call.gateway.ports.of(QUERIES).trial_outside(call.scope, experiment, trial)
    if found is None:
        raise NotFound(f"no trial with the external id {trial!r} in an experiment with the external id {experiment!r}")
    return FoundTrialAnswer(trial=await trial_of(call, found))


async def _created(call: Call, wanted: NewTrial, name: str, where: str = "") -> Trial:
    if not wanted.unmanaged:
        raise InvalidConfig(
            f"{where}unmanaged: expected true; found false. The cluster creates the trials that it runs itself"
        )
    hparams = orjson.loads(json_text(dict(wanted.hparams or {})))
    reply = await call.send(CreateUnmanagedTrial(wanted.experiment_id, name, hparams))
    return await trial_of(call, int(reply.data["trial_id"]))


async def start_trial(call: Call, request: StartTrial) -> StartedTrialAnswer:
    """Say that a process outside of the cluster begins a run of the trial, and learn what it goes on from."""
    trial = await _outside(call, request.trial_id)
    await _heard(call, trial)
    reply = await call.send(StartUnmanagedTrial(trial.experiment_id, trial.trial_id, request.body.resume))
    resumed = reply.data["run_id"] > 1
    return StartedTrialAnswer(
        steps_completed=reply.data["steps_completed"] if resumed else 0,
        trial_run_id=reply.data["run_id"],
        latest_checkpoint=reply.data["checkpoint"] if resumed else None,
    )


async def patch_trial(call: Call, request: PatchTrial) -> PatchedTrialAnswer:
    """Send a heartbeat of a trial that runs outside of the cluster, and say how the trial stands."""
    trial = await _outside(call, request.trial_id)
    wanted = request.body.state
    if wanted is not None and wanted is not TrialState.UNSPECIFIED and wanted not in STATES:
        names = ", ".join(state.value for state in STATES)
        raise InvalidConfig(f"state: expected one of {names}; found {wanted.value}")
    await _heard(call, trial)
    if wanted in STATES:
        await call.send(SetUnmanagedTrialState(trial.experiment_id, trial.trial_id, STATES[wanted]))
    return PatchedTrialAnswer(trial=await trial_of(call, trial.trial_id))


async def _outside(call: Call, trial_id: int) -> TrialRef:
    trial = await lookup.trial(call.gateway, trial_id)
    if not trial.unmanaged:
        raise refuse(
            f"start or change trial {trial_id} from outside",
            f"the cluster runs it, as experiment {trial.experiment_id} is managed",
            "pause, activate or kill the experiment",
        )
    return trial


async def _heard(call: Call, trial: TrialRef) -> None:
    await call.gateway.heartbeats.note(trial.trial_id, call.gateway.context.now())


def check_reporter(call: Call, trial: TrialRef) -> None:
    """Users report for trials that run outside of the cluster; for the others, their tasks alone do. Raises
    Forbidden."""
    if call.principal.task is None and not trial.unmanaged:
        raise Forbidden(f"trial {trial.trial_id} runs in the cluster: only its own task may report for it")
