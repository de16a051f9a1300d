"""The log of a trial or a task: which lines to ask for, and printing them as they come."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections import deque
from collections.abc import Iterator
from datetime import UTC, timedelta
from itertools import islice
from typing import Any

from resolute.cli import times
from resolute.cli.errors import CliError, Unreachable
from resolute.cli.levels import LEVELS
from resolute.cli.session import Query, Session

_REMEMBERED = 20_000
_OVERLAP = timedelta(seconds=1)
_PATIENCE_S = 300.0
_PAUSE_S = 1.0


def wanted(args: Namespace) -> dict[str, Any]:
    """The query that the options of a `logs` command ask for."""
    for name in ("timestamp_before", "timestamp_after"):
        _check_instant(name, getattr(args, name))
    return {
        "limit": args.head if args.head is not None else args.tail,
        "orderBy": "ORDER_BY_DESC" if args.tail is not None else None,
        "levels": _from_level_up(args.level),
        "agentIds": args.agent_ids,
        "containerIds": args.container_ids,
        "rankIds": args.rank_ids,
        "sources": args.sources,
        "stdtypes": args.stdtypes,
        "allocationIds": getattr(args, "allocation_ids", None),
        "timestampBefore": args.timestamp_before,
        "timestampAfter": args.timestamp_after,
    }


def lines(session: Session, path: str, query: Query, *, follow: bool) -> Iterator[dict[str, Any]]:
    """The log's lines, oldest first; with `follow`, until the task has ended."""
    if query.get("orderBy") == "ORDER_BY_DESC":  # the last ones: they come newest first
        tail = list(session.stream(path, {**query, "follow": False}))[::-1]
        yield from tail
        if follow:
            yield from _followed(session, path, {**query, "orderBy": None, "limit": None}, tail)
    elif follow:
        found = _followed(session, path, {**query, "limit": None}, [])
        yield from islice(found, query.get("limit"))
    else:
        yield from session.stream(path, {**query, "follow": False})


def show(found: Iterator[dict[str, Any]], *, as_json: bool) -> None:
    for line in found:
        if as_json:
            print(json.dumps(line), flush=True)
        else:
            message = str(line.get("message", ""))
            print(message, end="" if message.endswith("\n") else "\n", flush=True)


def _followed(session: Session, path: str, query: Query, seen: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Follow to the end, across a master that goes away and comes back.

    After a break the stream is asked for again from a little before the last line; lines that
    were seen are known by their ids and left out.
    """
    known = deque((line["id"] for line in seen), maxlen=_REMEMBERED)
    since = _just_before(seen[-1]["timestamp"]) if seen else query.get("timestampAfter")
    broken_at: float | None = None
    while True:
        ids = set(known)
        try:
            for line in session.stream(path, {**query, "follow": True, "timestampAfter": since}):
                broken_at = None
                if line["id"] not in ids:
                    known.append(line["id"])
                    since = _just_before(line["timestamp"])
                    yield line
            return
        except Unreachable:
            if broken_at is None:
                broken_at = time.monotonic()
                print("The connection broke; following again...", file=sys.stderr)
            if time.monotonic() - broken_at > _PATIENCE_S:
                raise
        time.sleep(_PAUSE_S)


def _just_before(instant: str) -> str:
    moment = times.parse(instant).astimezone(UTC) - _OVERLAP
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _from_level_up(level: str | None) -> list[str] | None:
    if level is None:
        return None
    return [f"LOG_LEVEL_{each}" for each in LEVELS[LEVELS.index(level) :]]


def _check_instant(name: str, text: str | None) -> None:
    if text is None:
        return
    try:
        times.parse(text)
    except ValueError as error:
        option = "--" + name.replace("_", "-")
        raise CliError(f"{option}: {error}; for example 2026-01-31T12:00:00Z") from error
