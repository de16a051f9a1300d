"""News for those who wait on an allocation or a trial: a long-poll is woken by the facts it waits for, and by nothing
else."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from resolute.proto.experiment import (
    ExperimentDeleted,
    ExperimentEdited,
    ExperimentEnded,
    ExperimentPaused,
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialRunRequested,
    TrialStopRequested,
    TrialTargetReached,
    TrialTargetSet,
)
from resolute.proto.interactive import TaskEnded
from resolute.proto.master_config import LoggingChanged
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import AllocationExited, AllocationStarted, JobChanged, JobMoved, PreemptionRequested

REMEMBERED = 10_000


LOGGING = "logging"
"""What the news goes by that administrators changed the log of the gateways."""


def trial(trial_id: int) -> str:
    """What news of a trial goes by; news of an allocation goes by its id."""
    return f"trial {trial_id}"


def task(task_id: str) -> str:
    """What the news goes by that a task which is no trial has ended."""
    return f"task {task_id}"


def experiment(experiment_id: int | str) -> str:
    """What news of a search goes by."""
    return f"experiment {experiment_id}"


def deletion(experiment_id: int | str | None) -> str:
    """What the news goes by that an experiment was deleted. There is never any of None, no experiment."""
    return f"deletion of experiment {experiment_id}"


def job(job_id: str) -> str:
    """What the news goes by that a job of the queue has other settings, or another place."""
    return f"job {job_id}"


def configuration(experiment_id: int | str) -> str:
    """What the news goes by that the configuration of an experiment was edited."""
    return f"configuration of experiment {experiment_id}"


OF_A_SEARCH = (TrialCreated, TrialTargetReached, TrialEarlyExitReported, TrialEnded, ExperimentPaused, ExperimentEnded)


def _about(event: Event) -> str | None:
    match event:
        case PreemptionRequested() | AllocationStarted() | AllocationExited():
            return event.allocation_id
        case TrialTargetSet() | TrialStopRequested() | TrialRunRequested() | TrialEnded():
            return trial(event.trial_id)
        case JobChanged() | JobMoved():
            return job(event.job_id)
        case LoggingChanged():
            return LOGGING
    return None


class Signals:
    """Wakes waiters; holds no state that would be missed after a restart: who wakes reads the read model."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._heard: OrderedDict[str, int] = OrderedDict()

    def deliver(self, recorded: Recorded) -> None:
        """For the bus to call with every fact."""
        if (about := _about(recorded.event)) is not None:
            self._hear(about, recorded.position)
        if isinstance(recorded.event, TaskEnded):
            self._hear(task(recorded.key), recorded.position)
        if isinstance(recorded.event, OF_A_SEARCH):
            self._hear(experiment(recorded.key), recorded.position)
        if isinstance(recorded.event, ExperimentEdited):
            self._hear(configuration(recorded.key), recorded.position)
        if isinstance(recorded.event, ExperimentDeleted):
            self._hear(deletion(recorded.key), recorded.position)

    def _hear(self, about: str, position: int) -> None:
        self._heard[about] = max(self.heard(about), position)
        self._heard.move_to_end(about)
        if len(self._heard) > REMEMBERED:
            self._heard.popitem(last=False)
        self.wake(about)

    def heard(self, *about: str) -> int:
        """The position of the newest fact about any of these: a read model that has reached it shows it. Who looks
        and then waits compares this before and after: news that came while he looked wakes nobody any more."""
        return max(self._heard.get(one, 0) for one in about)

    def wake(self, about: str) -> None:
        for waiting in self._waiting.pop(about, ()):
            waiting.set()

    async def wait(self, *about: str, timeout_s: float) -> bool:
        """Wait for news of any of these; False when `timeout_s` passes without."""
        event = asyncio.Event()
        for one in about:
            self._waiting.setdefault(one, set()).add(event)
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            return False
        finally:
            self._forget(about, event)
        return True

    def _forget(self, about: tuple[str, ...], event: asyncio.Event) -> None:
        for one in about:
            waiting = self._waiting.get(one, set())
            waiting.discard(event)
            if not waiting:
                self._waiting.pop(one, None)
