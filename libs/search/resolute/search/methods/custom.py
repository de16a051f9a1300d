"""Custom search: a client drives it from outside, by operations that answer the events of the experiment.

What it may ask for is checked here, against what has happened; what it asked for is remembered by the event that
says so, as everything else is. A trial that has reached its target before the client gave it a further one waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from resolute.proto.errors import InvalidConfig, Refused
from resolute.proto.experiment import SearchOperationsPosted, TrialCreated, TrialEnded, TrialTargetReached
from resolute.search import derive
from resolute.search.methods.method import (
    Answer,
    CreateTrial,
    Operation,
    SearchEvent,
    Shutdown,
    StopTrial,
    TrainTo,
    Wait,
)
from resolute.search.methods.posted import (
    Close,
    Create,
    Finish,
    Note,
    Posted,
    Train,
    read_operations,
    recall_operations,
)
from resolute.search.settings import Settings


@dataclass(slots=True)
class Known:
    """A trial as its client knows it."""

    trial_id: int = 0
    """0 until it has been created."""
    target: int = 0
    closed: bool = False
    outcome: str = ""


@dataclass(slots=True)
class Draft:
    """What is asked for in one post, in order; and who was asked to do something in it."""

    created: dict[str, CreateTrial] = field(default_factory=dict)
    others: list[Operation] = field(default_factory=list)
    busy: set[str] = field(default_factory=set)


class CustomSearch:
    def __init__(self, settings: Settings, seed: int) -> None:
        self._seed = seed
        self._known: dict[str, Known] = {}
        """By request."""
        self._request: dict[int, str] = {}
        self._progress = 0.0
        self.answered = 0
        """The newest event, by its version in the stream, that the client has answered."""

    def start(self) -> list[Operation]:
        return []

    def next(self, event: SearchEvent) -> Answer:
        """Raises InvalidConfig, naming the field, for what makes no sense, Refused for what comes too late."""
        return Answer(event, self._operations(event))

    def _operations(self, event: SearchEvent) -> list[Operation]:
        match event:
            case SearchOperationsPosted(operations=operations):
                return self._asked_for(read_operations(operations))
            case TrialTargetReached(trial_id=trial_id, length=length) if self._has_nothing_to_do(trial_id):
                return [Wait(trial_id, f"it has trained to {length}, and its client has not said what comes next")]
        return []

    def _has_nothing_to_do(self, trial_id: int) -> bool:
        request = self._request.get(trial_id)
        return request is not None and not self._known[request].closed

    def _has_ended(self, request_id: str) -> bool:
        return request_id in self._known and bool(self._known[request_id].outcome)

    # ------------------------------------------------------------ what was posted

    def _asked_for(self, posted: Sequence[Posted]) -> list[Operation]:
        draft = Draft()
        for place, operation in enumerate(posted):
            self._ask(draft, operation, f"operations[{place}]", alone=len(posted) == 1)
        return [*draft.created.values(), *draft.others]

    def _ask(self, draft: Draft, operation: Posted, path: str, *, alone: bool) -> None:
        match operation:
            case Create():
                draft.created[operation.request_id] = self._create(draft, operation, path)
            case Train(request_id=request_id) if request_id in draft.created:
                draft.created[request_id] = _with_target(draft.created[request_id], operation.length, path)
            case Train(request_id=request_id) | Close(request_id=request_id) if self._has_ended(request_id):
                pass  # the client has not read this event yet
            case Train():
                known = self._free(draft, operation.request_id, path)
                if operation.length <= known.target:
                    raise InvalidConfig(
                        f"{path}.length: expected more than {known.target}, which is its target already."
                    )
                draft.others.append(TrainTo(known.trial_id, operation.length))
            case Close():
                known = self._free(draft, operation.request_id, path)
                draft.others.append(StopTrial(known.trial_id, "its client closed it"))
            case Finish() if not alone:
                raise InvalidConfig(f"{path}: shutdown ends the search, and stands alone. Post the others before it.")
            case Finish(outcome=outcome, reason=reason):
                draft.others.append(Shutdown(outcome, reason))
            case Note():
                pass

    def _create(self, draft: Draft, wanted: Create, path: str) -> CreateTrial:
        if wanted.request_id in self._known or wanted.request_id in draft.created:
            raise Refused(f"{path}.request_id: there is a trial {wanted.request_id} already; name each one anew")
        index = len(self._known) + len(draft.created)
        return CreateTrial(wanted.request_id, wanted.hparams, derive.trial_seed(self._seed, index), wanted.length)

    def _free(self, draft: Draft, request_id: str, path: str) -> Known:
        """A trial that something may be asked of."""
        known = self._known.get(request_id)
        if request_id in draft.created:
            raise InvalidConfig(f"{path}: trial {request_id} is created in the same post; close it in a later one.")
        if known is None:
            raise InvalidConfig(f"{path}.request_id: no trial {request_id}; create it first.")
        if known.closed:
            raise Refused(f"{path}: trial {request_id} was closed; create another one")
        if request_id in draft.busy:
            raise InvalidConfig(f"{path}: one post asks one thing of a trial, and {request_id} has its own already.")
        draft.busy.add(request_id)
        return known

    # ------------------------------------------------------------ what happened

    def evolve(self, event: SearchEvent) -> None:
        match event:
            case SearchOperationsPosted():
                self.answered = max(self.answered, event.answers)
                for operation in recall_operations(event.operations):
                    self._remember(operation)
            case TrialCreated(trial_id=trial_id, request_id=request_id):
                self._known.setdefault(request_id, Known()).trial_id = trial_id
                self._request[trial_id] = request_id
            case TrialEnded(trial_id=trial_id) if trial_id in self._request:
                self._known[self._request[trial_id]].outcome = event.outcome
            case _:
                pass

    def _remember(self, operation: Posted) -> None:
        match operation:
            case Create(request_id=request_id, length=length):
                self._known[request_id] = Known(target=length or 0)
            case Train(request_id=request_id, length=length):
                self._known[request_id].target = length
            case Close(request_id=request_id):
                self._known[request_id].closed = True
            case Note(progress=progress):
                self._progress = progress
            case Finish():
                self._progress = 1.0

    def progress(self) -> float:
        """What its client last said."""
        return self._progress


def _with_target(created: CreateTrial, length: int, path: str) -> CreateTrial:
    if created.target is not None:
        raise InvalidConfig(f"{path}: one post gives a trial one target; {created.request_id} has {created.target}.")
    return CreateTrial(created.request_id, created.hparams, created.seed, length)
