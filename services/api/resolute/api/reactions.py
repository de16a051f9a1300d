"""What the gateway does about facts: the measurements and the keys of a deleted experiment go with it."""

from __future__ import annotations

from collections.abc import Iterable

from resolute.api.log_removal import LogRemoval
from resolute.api.vault import Vault
from resolute.config import secrets_of
from resolute.eventlog import EventLog
from resolute.proto.experiment import ExperimentContinued, ExperimentCreated, ExperimentDeleted, TrialCreated
from resolute.proto.message import Recorded
from resolute.service.sealing import key_of

NAME = "api-measures"


class ForgetDeleted:
    """Read from the log, not from the read model, which has forgotten the experiment's trials already."""

    def __init__(self, log: EventLog, removal: LogRemoval, vault: Vault) -> None:
        self._log, self._removal, self._vault = log, removal, vault

    async def __call__(self, recorded: Recorded) -> None:
        if isinstance(recorded.event, ExperimentDeleted):
            story = await self._log.read_stream(recorded.stream)
            await self._vault.forget(keys_in(story))
            trials = {trial.trial_id: trial.task_id for trial in trials_in(story)}
            await self._removal.forget(int(recorded.key), trials)


def keys_in(story: Iterable[Recorded]) -> list[str]:
    """The names of the keys that secrets of the experiment were sealed under."""
    events = [one.event for one in story if isinstance(one.event, ExperimentCreated | ExperimentContinued)]
    keys = (key_of(value) for event in events for _, value in secrets_of(event.config))
    return sorted({key for key in keys if key is not None})


def trials_in(story: Iterable[Recorded]) -> list[TrialCreated]:
    return [recorded.event for recorded in story if isinstance(recorded.event, TrialCreated)]
