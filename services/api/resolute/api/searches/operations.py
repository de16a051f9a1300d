"""What the client of a custom search posts: each operation of the wire as the searcher's command has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from resolute.api import wire
from resolute.proto.errors import InvalidConfig
from resolute.proto.message import Object
from resolute.proto.states import End


def operation_of(given: Mapping[str, Any], path: str) -> Object:
    """Raises InvalidConfig, which names `path`, unless `given` is exactly one operation."""
    names = [name for name in _READERS if isinstance(given.get(name), Mapping)]
    if len(names) != 1:
        raise InvalidConfig(f"{path}: expected an object with one of {', '.join(_READERS)}; found {given!r}")
    return _READERS[names[0]](given[names[0]], f"{path}.{names[0]}")


def _create(given: Mapping[str, Any], path: str) -> Object:
    hparams = given.get("hparams")
    if isinstance(text := given.get("hyperparams"), str):
        try:
            hparams = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise InvalidConfig(f"{path}.hyperparams: expected a JSON object as text; {error}") from None
    return {"type": "create_trial", "request_id": given.get("requestId"), "hparams": hparams}


def _train(given: Mapping[str, Any], path: str) -> Object:
    after = given.get("validateAfter")
    if not isinstance(after, Mapping):
        raise InvalidConfig(f"{path}.validateAfter: expected an object with requestId and length; found {after!r}")
    length = wire.whole(after.get("length"), f"{path}.validateAfter.length")
    return {"type": "train_to", "request_id": after.get("requestId"), "length": length}


def _close(given: Mapping[str, Any], path: str) -> Object:
    return {"type": "close_trial", "request_id": given.get("requestId")}


def _progress(given: Mapping[str, Any], path: str) -> Object:
    return {"type": "set_progress", "progress": given.get("progress")}


def _shut_down(given: Mapping[str, Any], path: str) -> Object:
    if given.get("failure"):
        return {"type": "shutdown", "outcome": End.ERROR, "reason": "its client says that the search failed"}
    return {"type": "shutdown", "outcome": End.CANCELED if given.get("cancel") else End.COMPLETED}


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], Object]] = {
    "createTrial": _create,
    "trialOperation": _train,
    "closeTrial": _close,
    "setSearcherProgress": _progress,
    "shutDown": _shut_down,
}
"""By the name of the operation on the wire."""
