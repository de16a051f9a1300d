"""The operations that the client of a custom search posts: read from JSON, each field checked by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from resolute.proto.errors import InvalidConfig
from resolute.proto.message import Object
from resolute.proto.states import End

MOST_LENGTH = 2**53
"""What every reader of JSON holds exactly."""


@dataclass(frozen=True, slots=True)
class Create:
    request_id: str
    hparams: dict[str, Any]
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Train:
    request_id: str
    length: int


@dataclass(frozen=True, slots=True)
class Close:
    request_id: str


@dataclass(frozen=True, slots=True)
class Note:
    progress: float


@dataclass(frozen=True, slots=True)
class Finish:
    outcome: End = End.COMPLETED
    reason: str = "its client says that the search is over"


Posted: TypeAlias = Create | Train | Close | Note | Finish

_KINDS: Mapping[str, type[Posted]] = {
    "create_trial": Create,
    "train_to": Train,
    "close_trial": Close,
    "set_progress": Note,
    "shutdown": Finish,
}


def read_operations(operations: Sequence[Object]) -> list[Posted]:
    """Raises InvalidConfig, naming the field, what was found, and what would do."""
    return [_read(operation, f"operations[{place}]") for place, operation in enumerate(operations)]


def recall_operations(operations: Sequence[Object]) -> list[Posted]:
    """Operations that were accepted, read again. They were checked when they were posted, and are not checked here: a
    check that became stricter since must not make the log unreadable."""
    return [_recall(operation) for operation in operations]


def _recall(operation: Object) -> Posted:
    kind = _KINDS[operation["type"]]
    given = {name: value for name in kind.__dataclass_fields__ if (value := operation.get(name)) is not None}
    if "request_id" in given:
        given["request_id"] = str(UUID(given["request_id"]))
    return kind(**given)


def _read(operation: Any, path: str) -> Posted:
    if not isinstance(operation, Mapping):
        raise InvalidConfig(f"{path}: expected an object with a type; found {operation!r}.")
    kind = _KINDS.get(str(operation.get("type")))
    if kind is None:
        raise InvalidConfig(f"{path}.type: expected one of {', '.join(_KINDS)}; found {operation.get('type')!r}.")
    given = {name: value for name, value in operation.items() if name != "type" and value is not None}
    fields = kind.__dataclass_fields__
    for name in given:
        if name not in fields:
            raise InvalidConfig(f"{path}.{name}: unknown field. A {operation['type']} has {', '.join(fields)}.")
    missing = next((name for name in _REQUIRED[kind] if name not in given), None)
    if missing is not None:
        raise InvalidConfig(f"{path}.{missing}: missing. A {operation['type']} needs it.")
    return kind(**{name: _READERS[name](value, f"{path}.{name}") for name, value in given.items()})


def _request(value: Any, path: str) -> str:
    try:
        return str(UUID(value))
    except (ValueError, TypeError, AttributeError):
        raise InvalidConfig(f"{path}: expected a UUID, the client's own name for the trial; found {value!r}.") from None


def _hparams(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidConfig(f"{path}: expected an object of names and values; found {value!r}.")
    return dict(value)


def _length(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_LENGTH:
        raise InvalidConfig(f"{path}: expected a whole number from 1 to {MOST_LENGTH}; found {value!r}.")
    return value


def _progress(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidConfig(f"{path}: expected a number from 0 to 1; found {value!r}.")
    return float(value)


def _outcome(value: Any, path: str) -> End:
    if value not in tuple(End):
        raise InvalidConfig(f"{path}: expected one of {', '.join(End)}; found {value!r}.")
    return End(value)


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise InvalidConfig(f"{path}: expected text; found {value!r}.")
    return value


_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "request_id": _request,
    "hparams": _hparams,
    "length": _length,
    "progress": _progress,
    "outcome": _outcome,
    "reason": _text,
}
_REQUIRED: Mapping[type[Posted], tuple[str, ...]] = {
    Create: ("request_id", "hparams"),
    Train: ("request_id", "length"),
    Close: ("request_id",),
    Note: ("progress",),
    Finish: (),
}
