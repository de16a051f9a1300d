"""The events that the client of a custom search answers, read from the stream of its experiment.

The id of an event is its version in the stream: ids grow, and a client that comes back finds its place by them. An
event that the client has answered is not shown again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from resolute.api.wire import number
from resolute.eventlog import EventLog
from resolute.proto import streams
from resolute.proto.errors import NotFound, refuse
from resolute.proto.experiment import (
    ExperimentCreated,
    ExperimentEnded,
    ExperimentPaused,
    SearchOperationsPosted,
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialTargetReached,
)
from resolute.proto.message import Event, Recorded
from resolute.proto.states import EarlyExit, End, ExperimentState

PAGE = 5_000
REMEMBERED = 100
"""Searches whose events are kept in memory; the stream of any other is read from its beginning."""


@dataclass(slots=True)
class SearchHistory:
    """The events of one search, as far as its stream was read."""

    version: int = 0
    method: str = ""
    requests: dict[int, str] = field(default_factory=dict)
    """The request ids of trials, by which the client names them."""
    gave_up: dict[int, str] = field(default_factory=dict)
    """The reasons that trials gave for ending early."""
    pending: OrderedDict[int, Mapping[str, Any]] = field(default_factory=OrderedDict)
    """The events that no post has answered yet, by id."""

    def add(self, recorded: Recorded) -> None:
        self.version, event = recorded.version, recorded.event
        match event:
            case ExperimentCreated(config=config):
                self.method = str((config.get("searcher") or {}).get("name"))
            case TrialCreated(trial_id=trial_id, request_id=request_id):
                self.requests[trial_id] = request_id
            case TrialEarlyExitReported(
                trial_id=trial_id, reason=EarlyExit.INVALID_HP | EarlyExit.USER_REQUESTED_STOP as reason
            ):
                self.gave_up[trial_id] = reason
            case SearchOperationsPosted(answers=answers):
                while self.pending and next(iter(self.pending)) <= answers:
                    self.pending.popitem(last=False)
        if (shown := self._shown(event)) is not None:
            self.pending[recorded.version] = {"id": recorded.version, **shown}

    def _shown(self, event: Event) -> Mapping[str, Any] | None:
        """The event as the wire has it; None for one that clients are not shown."""
        match event:
            case ExperimentCreated():
                return {"initialOperations": {}}
            case TrialCreated(request_id=request_id):
                return {"trialCreated": {"requestId": request_id}}
            case TrialTargetReached(trial_id=trial_id, length=length, metric=metric):
                reached = {"metric": number(metric), "validateAfterLength": str(length)}
                return {"validationCompleted": {"requestId": self.requests[trial_id], **reached}}
            case TrialEnded(trial_id=trial_id, outcome=outcome):
                return self._ended(trial_id, outcome)
            case ExperimentPaused():
                return {"experimentInactive": {"experimentState": f"STATE_{ExperimentState.PAUSED}"}}
            case ExperimentEnded(outcome=outcome):
                return {"experimentInactive": {"experimentState": f"STATE_{outcome}"}}
        return None

    def _ended(self, trial_id: int, outcome: str) -> Mapping[str, Any]:
        """The trial was closed, or exited early: for the reason that it gave, unless it failed or was canceled."""
        reason = _EXITED.get(outcome) or self.gave_up.get(trial_id)
        if reason is None:
            return {"trialClosed": {"requestId": self.requests[trial_id]}}
        return {"trialExitedEarly": {"requestId": self.requests[trial_id], "exitedReason": f"EXITED_REASON_{reason}"}}


_EXITED: Mapping[str, str] = {End.ERROR: "ERRORED", End.CANCELED: "USER_CANCELED"}


class SearchEvents:
    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._known: OrderedDict[int, SearchHistory] = OrderedDict()

    async def pending(self, experiment_id: int, after: int) -> tuple[Mapping[str, Any], ...]:
        """The events with an id above `after` that no post has answered, the oldest first.

        Raises NotFound; Refused for a search that needs no client.
        """
        found = await self._history(experiment_id)
        return tuple(event for event_id, event in found.pending.items() if event_id > after)

    async def newest(self, experiment_id: int) -> int:
        """The id of the newest event. Raises as `pending` does."""
        return (await self._history(experiment_id)).version

    async def _history(self, experiment_id: int) -> SearchHistory:
        found = self._known.setdefault(experiment_id, SearchHistory())
        self._known.move_to_end(experiment_id)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        await self._catch_up(experiment_id, found)
        return found

    async def _catch_up(self, experiment_id: int, found: SearchHistory) -> None:
        stream = streams.EXPERIMENT.stream(experiment_id)
        while events := await self._log.read_stream(stream, found.version, PAGE):
            for recorded in events:
                if recorded.version == found.version + 1:  # another call may have read the same meanwhile
                    found.add(recorded)
            if found.method != "custom":
                break
        if found.version == 0:
            self._known.pop(experiment_id, None)
            raise NotFound(f"experiment {experiment_id} not found")
        if found.method != "custom":
            raise refuse(
                f"show searcher events of experiment {experiment_id}",
                f"it is searched by {found.method}, which needs no client",
                "submit one with searcher.name: custom",
            )
