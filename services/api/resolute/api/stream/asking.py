"""What a client says: its message as a plain value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from resolute.api.stream.kinds import KINDS, Kind
from resolute.api.stream.limits import StreamLimits
from resolute.api.stream.ranges import ID_LENGTH_MAX, Id, read_ids, read_list
from resolute.proto.errors import InvalidConfig

POSITION_MAX = 2**63 - 1

ALL = "all"
SINCE = "since"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client wants to know of one kind of objects."""

    kind: Kind
    wanted: Mapping[str, frozenset[Id]]
    everything: bool
    known: frozenset[Id]
    since: int


@dataclass(frozen=True, slots=True)
class Sync:
    """One message of a client: it takes the place of all that the client has subscribed to before."""

    sync_id: str
    wishes: tuple[Wish, ...]


def read_sync(text: str, limits: StreamLimits) -> Sync:
    """Raises InvalidConfig, which names the field, what was found, and what would do."""
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidConfig(f"the message is no JSON: {error}") from None
    _check(said, "the message", {"sync_id", "known", "subscribe"})
    sync_id, known, subscribe = said.get("sync_id", ""), said.get("known") or {}, said.get("subscribe") or {}
    if not isinstance(sync_id, str) or len(sync_id) > ID_LENGTH_MAX:
        raise InvalidConfig(f"sync_id: expected text of at most {ID_LENGTH_MAX} characters; found {sync_id!r:.80}")
    _check(known, "known", set(KINDS))
    _check(subscribe, "subscribe", set(KINDS))
    wishes = (
        _wish(kind, subscribe[name], known.get(name), limits)
        for name, kind in KINDS.items()
        if subscribe.get(name) is not None
    )
    return Sync(sync_id, tuple(wishes))


def _wish(kind: Kind, said: Any, known: Any, limits: StreamLimits) -> Wish:
    where = f"subscribe.{kind.name}"
    _check(said, where, {*kind.facets, ALL, SINCE})
    since, everything = said.get(SINCE) or 0, said.get(ALL) or False
    if isinstance(since, bool) or not isinstance(since, int) or not 0 <= since <= POSITION_MAX:
        raise InvalidConfig(f"{where}.since: expected a whole number from 0 on; found {since!r:.80}")
    if not isinstance(everything, bool):
        raise InvalidConfig(f"{where}.all: expected true or false; found {everything!r:.80}")
    lists = {
        name: read_list(f"{where}.{name}", said[name], numbered=kind.is_number(column), most=limits.values)
        for name, column in kind.facets.items()
        if said.get(name)
    }
    if not lists and not everything:
        lists_of = ", ".join(kind.facets)
        raise InvalidConfig(f'{where}: no filter is given: name values in one of {lists_of}, or say "all": true')
    ids = read_ids(
        f"known.{kind.name}", known or ("" if kind.numbered else []), numbered=kind.numbered, most=limits.objects
    )
    return Wish(kind, lists, everything, ids, since)


def _check(said: Any, where: str, fields: set[str]) -> None:
    if not isinstance(said, dict):
        raise InvalidConfig(f"{where}: expected an object; found {said!r:.80}")
    if unknown := sorted(said.keys() - fields):
        raise InvalidConfig(f"{where}: {unknown[0]!r:.80} is unknown here; it may have {', '.join(sorted(fields))}")
