"""What the client of a custom search hears: the events of its experiment's stream, in the words of that conversation.

An event's id is its version in the stream: it grows, and a client that comes back finds its place by it. What a
client has answered it is not told again.
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
"""Searches whose place in the log is kept; another one is read from its beginning."""


@dataclass(slots=True)
class Conversation:
    """One search, as far as it was read."""

    version: int = 0
    method: str = ""
    requests: dict[int, str] = field(default_factory=dict)
    """The client's own names of trials."""
    gave_up: dict[int, str] = field(default_factory=dict)
    """Why trials end early by their own word."""
    pending: OrderedDict[int, dict[str, Any]] = field(default_factory=OrderedDict)
    """What happened and was not answered yet, by id."""

    def hear(self, recorded: Recorded) -> None:
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
        if (told := self._told(event)) is not None:
            self.pending[recorded.version] = {"id": recorded.version, **told}

    def _told(self, event: Event) -> dict[str, Any] | None:
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

    def _ended(self, trial_id: int, outcome: str) -> dict[str, Any]:
        """It was closed, or exited early: for the reason it gave itself, unless it failed or was canceled."""
        reason = _EXITED.get(outcome) or self.gave_up.get(trial_id)
        if reason is None:
            return {"trialClosed": {"requestId": self.requests[trial_id]}}
        return {"trialExitedEarly": {"requestId": self.requests[trial_id], "exitedReason": f"EXITED_REASON_{reason}"}}


_EXITED: Mapping[str, str] = {End.ERROR: "ERRORED", End.CANCELED: "USER_CANCELED"}


class SearchEvents:
    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._known: OrderedDict[int, Conversation] = OrderedDict()

    async def pending(self, experiment_id: int, after: int) -> list[dict[str, Any]]:
        """Those with an id above `after` that nobody answered, the oldest first.

        Raises NotFound; Refused for a search that needs no client.
        """
        found = await self._conversation(experiment_id)
        return [event for event_id, event in found.pending.items() if event_id > after]

    async def newest(self, experiment_id: int) -> int:
        """The id of the newest event there is. Raises as `pending` does."""
        return (await self._conversation(experiment_id)).version

    async def _conversation(self, experiment_id: int) -> Conversation:
        found = self._known.setdefault(experiment_id, Conversation())
        self._known.move_to_end(experiment_id)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        await self._catch_up(experiment_id, found)
        return found

    async def _catch_up(self, experiment_id: int, found: Conversation) -> None:
        stream = streams.EXPERIMENT.stream(experiment_id)
        while events := await self._log.read_stream(stream, found.version, PAGE):
            for recorded in events:
                if recorded.version == found.version + 1:  # another call may have read the same meanwhile
                    found.hear(recorded)
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
