"""A custom search is driven over REST: events out, operations in, each post answering an event.

The form is that of Determined's releases that had it. A client that is not sure whether a post arrived posts again:
what answers an event that was answered changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from resolute.api import signals, wire
from resolute.api.call import Call
from resolute.api.kernel.long_polls import changed_since, deadline_in, newest_position
from resolute.api.routing import OWNERS, SIGNED_IN, Route
from resolute.proto.errors import InvalidConfig
from resolute.proto.experiment import PostOperations
from resolute.proto.states import End


async def get_searcher_events(call: Call) -> dict[str, Any]:
    """What happened in a custom search and was not answered yet. Waits up to timeoutSeconds for the first of it;
    `after` leaves out what the client has seen."""
    experiment_id, after = call.int("experimentId"), call.query.number("after")
    deadline = deadline_in(call.query.number("timeoutSeconds"))
    about = signals.experiment(experiment_id)
    while True:
        seen = await newest_position(call, about)
        events = await call.gateway.search_events.pending(experiment_id, after)
        if events or not await changed_since(call, seen, about, deadline=deadline):
            return {"searcherEvents": events}


async def post_searcher_operations(call: Call) -> dict[str, Any]:
    """What the client wants done, in order, all of it or none, in answer to `triggeredByEvent`. Posting the answer to
    an event once more changes nothing."""
    operations = call.body.get("searcherOperations") or []
    if not isinstance(operations, list):
        raise InvalidConfig(f"searcherOperations: expected a list; found {operations!r}")
    read = tuple(_read(each, f"searcherOperations[{place}]") for place, each in enumerate(operations))
    answers = await _answered(call)
    await call.send(PostOperations(call.int("experimentId"), read, answers))
    return {}


async def _answered(call: Call) -> int:
    """The event that a post answers; 0 for none. An answer to what has not happened yet would silence those to what
    will have."""
    event = call.body.get("triggeredByEvent") or {}
    if not isinstance(event, Mapping):
        raise InvalidConfig(f"triggeredByEvent: expected an object with the id of an event; found {event!r}")
    answers = wire.whole(event.get("id") or 0, "triggeredByEvent.id")
    newest = await call.gateway.search_events.newest(call.int("experimentId"))
    if not 0 <= answers <= newest:
        raise InvalidConfig(f"triggeredByEvent.id: no event {answers} happened; the newest is {newest}")
    return answers


# ---------------------------------------------------------------- the wire's operations in the searcher's words


def _read(operation: Any, path: str) -> dict[str, Any]:
    named = [name for name in _READERS if isinstance(operation, Mapping) and isinstance(operation.get(name), Mapping)]
    if len(named) != 1:
        raise InvalidConfig(f"{path}: expected an object with one of {', '.join(_READERS)}; found {operation!r}")
    return _READERS[named[0]](operation[named[0]], f"{path}.{named[0]}")


def _create(given: Mapping[str, Any], path: str) -> dict[str, Any]:
    hparams = given.get("hparams")
    if isinstance(text := given.get("hyperparams"), str):
        try:
            hparams = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise InvalidConfig(f"{path}.hyperparams: expected a JSON object as text; {error}") from None
    return {"type": "create_trial", "request_id": given.get("requestId"), "hparams": hparams}


def _train(given: Mapping[str, Any], path: str) -> dict[str, Any]:
    after = given.get("validateAfter")
    if not isinstance(after, Mapping):
        raise InvalidConfig(f"{path}.validateAfter: expected an object with requestId and length; found {after!r}")
    length = wire.whole(after.get("length"), f"{path}.validateAfter.length")
    return {"type": "train_to", "request_id": after.get("requestId"), "length": length}


def _close(given: Mapping[str, Any], path: str) -> dict[str, Any]:
    return {"type": "close_trial", "request_id": given.get("requestId")}


def _note(given: Mapping[str, Any], path: str) -> dict[str, Any]:
    return {"type": "set_progress", "progress": given.get("progress")}


def _finish(given: Mapping[str, Any], path: str) -> dict[str, Any]:
    if given.get("failure"):
        return {"type": "shutdown", "outcome": End.ERROR, "reason": "its client says that the search failed"}
    return {"type": "shutdown", "outcome": End.CANCELED if given.get("cancel") else End.COMPLETED}


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], dict[str, Any]]] = {
    "createTrial": _create,
    "trialOperation": _train,
    "closeTrial": _close,
    "setSearcherProgress": _note,
    "shutDown": _finish,
}


ONE = "/api/v1/experiments/{experimentId}"

ROUTES = (
    Route(
        "GetSearcherEvents",
        "GET",
        f"{ONE}/searcher_events",
        get_searcher_events,
        SIGNED_IN.to("experiment.view").about("experiment", "experimentId"),
    ),
    Route(
        "PostSearcherOperations",
        "POST",
        f"{ONE}/searcher_operations",
        post_searcher_operations,
        # Whoever says how a search goes on decides what its trials run.
        OWNERS.to("experiment.edit").about("experiment", "experimentId"),
    ),
)
