"""The event log behind a gateway, for administrators whose machine is not the cluster's: a `ReadableLog` over REST."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from resolute.cli.session import Session
from resolute.eventlog.chain import Row
from resolute.eventlog.log import Aside

EVENTS, ASIDES = "/api/v1/log/events", "/api/v1/log/asides"
WAIT_MOST_S = 60


class RestLog:
    """Only one command reads at a time, so it may block while it waits for an answer."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def head(self) -> int:
        return int(self._page({"limit": 1})["head"])

    async def wait_beyond(self, position: int, timeout_s: float) -> bool:
        wait_s = min(int(timeout_s), WAIT_MOST_S)
        return bool(self._page({"after": position, "limit": 1, "timeoutSeconds": wait_s})["events"])

    async def rows(self, after: int = 0, batch: int = 1000) -> AsyncIterator[list[Row]]:
        more = True
        while more:
            page = self._page({"after": after, "limit": batch})
            rows, more = [_row(event) for event in page["events"]], page["more"]
            if rows:
                after = rows[-1].position
                yield rows

    async def stream_rows(self, stream: str) -> list[Row]:
        return self._all({"stream": stream})

    async def rows_of_types(self, stream: str, types: Sequence[str]) -> list[Row]:
        return self._all({"stream": stream, "types": list(types)})

    async def rows_mentioning(self, fields: Sequence[str], *values: str) -> list[Row]:
        return self._all({"fields": list(fields), "values": list(values)}) if values else []

    async def rows_caused_by(self, stream: str, cause_id: str) -> list[Row]:
        return self._all({"stream": stream, "causedBy": cause_id})

    async def row_at(self, position: int) -> Row | None:
        found = self._page({"after": position - 1, "limit": 1})["events"] if position > 0 else []
        return _row(found[0]) if found and int(found[0]["position"]) == position else None

    async def asides(self) -> list[Aside]:
        return [_aside(one) for one in self._session.pages(ASIDES, "asides")]

    def _all(self, query: dict[str, Any]) -> list[Row]:
        """Every event that is meant, page after page."""
        found: list[Row] = []
        more = True
        while more:
            page = self._page({**query, "after": found[-1].position if found else 0, "limit": 1000})
            found += [_row(event) for event in page["events"]]
            more = page["more"]
        return found

    def _page(self, query: dict[str, Any]) -> Any:
        return self._session.get(EVENTS, query)


def _row(event: dict[str, Any]) -> Row:
    return Row(
        position=int(event["position"]),
        stream=event["stream"],
        version=event["version"],
        type=event["type"],
        schema_version=event["schemaVersion"],
        data=json.dumps(event["data"], ensure_ascii=False, separators=(",", ":")),
        caused_by=event["causedBy"],
        step=event["step"],
        correlation_id=event["correlationId"],
        actor=event["actor"],
        traceparent=event.get("traceparent"),
        recorded_at=datetime.fromisoformat(event["recordedAt"]),
        prev_hash=event["prevHash"],
    )


def _aside(one: dict[str, Any]) -> Aside:
    again = one.get("againAt")
    return Aside(
        consumer=one["consumer"],
        position=int(one["position"]),
        error=one["error"],
        noted_at=datetime.fromisoformat(one["notedAt"]),
        again_at=datetime.fromisoformat(again) if again else None,
        stream=one.get("stream"),
        version=one.get("version"),
        type=one.get("type"),
    )
