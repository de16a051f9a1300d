"""What the gateway does about facts: the measurements of a deleted experiment go with it."""

from __future__ import annotations

from collections.abc import Iterable

from resolute.api.measures.logs import LogStore
from resolute.api.measures.metrics import MetricStore
from resolute.eventlog import EventLog
from resolute.proto.experiment import ExperimentDeleted, TrialCreated
from resolute.proto.message import Recorded

NAME = "api-measures"


class ForgetDeleted:
    """Read from the log, not from the read model, which has forgotten the experiment's trials already."""

    def __init__(self, log: EventLog, measured: MetricStore, logs: LogStore) -> None:
        self._log, self._measured, self._logs = log, measured, logs

    async def __call__(self, recorded: Recorded) -> None:
        if isinstance(recorded.event, ExperimentDeleted):
            trials = trials_in(await self._log.read_stream(recorded.stream))
            await self._measured.delete([trial.trial_id for trial in trials])
            await self._logs.delete_before([trial.task_id for trial in trials], recorded.recorded_at)


def trials_in(story: Iterable[Recorded]) -> list[TrialCreated]:
    return [recorded.event for recorded in story if isinstance(recorded.event, TrialCreated)]
