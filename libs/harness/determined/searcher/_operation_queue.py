"""Operations on their way to the master: a trial gets one at a time, and its further operations wait here."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any

from determined.searcher._method import Close, Create, Operation, Progress, Shutdown, ValidateAfter

Wire = dict[str, Any]


class OperationQueue:
    """The operations of one search that wait until their trial has finished an earlier one."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Wire]] = {}
        self._busy: set[str] = set()
        """Trials with an operation that was sent and is not done yet."""

    def send(self, operations: Sequence[Operation], progress: float) -> list[Wire]:
        """Queues `operations`; returns those that can be sent now, with the progress. A shutdown is sent alone."""
        for operation in operations:
            if isinstance(operation, Shutdown):
                return [{"shutDown": {"cancel": operation.cancel, "failure": operation.failure}}]
        sent: list[Wire] = []
        created = {str(each.request_id) for each in operations if isinstance(each, Create)}
        for operation in operations:
            match operation:
                case Create(request_id=request_id, hparams=hparams):
                    sent.append({"createTrial": {"requestId": str(request_id), "hyperparams": json.dumps(hparams)}})
                case ValidateAfter(request_id=request_id, length=length):
                    wire = {"trialOperation": {"validateAfter": {"requestId": str(request_id), "length": str(length)}}}
                    sent += self._ask(str(request_id), wire)
                case Close(request_id=request_id):
                    close = {"closeTrial": {"requestId": str(request_id)}}
                    sent += self._ask(str(request_id), close, later=str(request_id) in created)
                case Progress(progress=reported):
                    progress = reported
                case _:
                    raise TypeError(f"expected one of the operations of determined.searcher, found {operation!r}")
        return [*sent, {"setSearcherProgress": {"progress": min(max(float(progress), 0.0), 1.0)}}]

    def _ask(self, name: str, wire: Wire, *, later: bool = False) -> list[Wire]:
        if later or name in self._busy or self._waiting.get(name):
            self._waiting.setdefault(name, []).append(wire)
            return []
        self._busy.add(name)
        return [wire]

    def created(self, request_id: uuid.UUID) -> list[Wire]:
        """The trial was created. Returns its next operation, unless one was sent together with its creation."""
        return [] if str(request_id) in self._busy else self._next(str(request_id))

    def reached(self, request_id: uuid.UUID) -> list[Wire]:
        """The trial has reached its length. Returns its next operation."""
        self._busy.discard(str(request_id))
        return self._next(str(request_id))

    def ended(self, request_id: uuid.UUID) -> None:
        self._busy.discard(str(request_id))
        self._waiting.pop(str(request_id), None)

    def _next(self, name: str) -> list[Wire]:
        waiting = self._waiting.get(name)
        if not waiting:
            return []
        self._busy.add(name)
        return [waiting.pop(0)]

    def dump(self) -> Wire:
        return {"waiting": self._waiting, "busy": sorted(self._busy)}

    def load(self, dumped: Wire) -> None:
        self._waiting, self._busy = dumped["waiting"], set(dumped["busy"])
