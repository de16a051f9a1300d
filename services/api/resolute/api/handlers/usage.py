"""What the cluster was used for: slots held and for how long, allocation by allocation or by day and month.

An allocation holds its slots from when it was given them until the last of it was gone, as the log has both. Seconds
of a day or month are slot-seconds; of an allocation they are the seconds for which it held all of its slots.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import asyncpg
from aiohttp import web

from resolute.api.call import Call
from resolute.api.routing import SIGNED_IN, Route
from resolute.api.wire import instant, timestamp
from resolute.proto.errors import InvalidConfig

DAILY = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
MONTHLY = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"

PERIODS_MOST = 3660

HELD = """SELECT a.allocation_id, a.task_type, a.owner, u.id AS owner_id, a.experiment_id, a.slots, a.pool,
    coalesce(e.labels, '{}') AS labels, coalesce(w.name, '') AS workspace, greatest(a.assigned_at, $1) AS began_at,
    least(coalesce(a.ended_at, $3), $2) AS ended_at
FROM read_tasks.allocations a
LEFT JOIN read_identity.users u ON u.username = a.owner
LEFT JOIN read_experiments.experiments e ON e.id = a.experiment_id
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id
LEFT JOIN read_workspaces.workspaces w ON w.id = p.workspace_id
WHERE a.assigned_at < least($2, $3) AND coalesce(a.ended_at, $3) > $1
ORDER BY a.assigned_at, a.allocation_id"""

# $1 and $2 bound the periods, $3 is now, $4 their length in words; a row for each period and what it is summed over.
SUMS = """SELECT s.began_at, h.{of} AS key,
    sum(h.slots * extract(epoch FROM least(coalesce(h.ended_at, $3), s.began_at + $4::text::interval)
                                     - greatest(h.assigned_at, s.began_at)))::float8 AS seconds
FROM generate_series($1::timestamptz, $2::timestamptz, $4::text::interval) AS s(began_at)
JOIN {source} h ON h.assigned_at < least(s.began_at + $4::text::interval, $3) AND coalesce(h.ended_at, $3) > s.began_at
GROUP BY s.began_at, h.{of}"""

ALLOCATIONS = "read_tasks.allocations"
LABELED = """(SELECT a.assigned_at, a.ended_at, a.slots, label
    FROM read_tasks.allocations a JOIN read_experiments.experiments e ON e.id = a.experiment_id,
    unnest(e.labels) AS label)"""

WHOLE = f"(SELECT *, ''::text AS whole FROM {ALLOCATIONS})"

BY = {
    "byUsername": SUMS.format(of="owner", source=ALLOCATIONS),
    "byResourcePool": SUMS.format(of="pool", source=ALLOCATIONS),
    "byExperimentLabel": SUMS.format(of="label", source=LABELED),
}
TOTAL = SUMS.format(of="whole", source=WHOLE)

AGGREGATION_TYPES = {
    "byExperimentLabel": "experiment_label",
    "byUsername": "username",
    "byResourcePool": "resource_pool",
}


async def raw(call: Call) -> dict[str, Any]:
    """Every allocation that held slots between two instants, with the part of its time that lies between them."""
    return {"resourceEntries": [_raw_json(row) for row in await _held(call)]}


async def _held(call: Call) -> Sequence[asyncpg.Record]:
    after, before = _instant(call, "timestampAfter"), _instant(call, "timestampBefore")
    if before <= after:
        raise InvalidConfig(f"timestampBefore: expected an instant after timestampAfter; found {timestamp(before)}")
    return await call.gateway.read.rows(HELD, after, before, call.gateway.context.now())


def _seconds(row: asyncpg.Record) -> float:
    seconds: float = (row["ended_at"] - row["began_at"]).total_seconds()
    return seconds


def _kind(row: asyncpg.Record) -> str:
    return "training" if row["task_type"] == "TRIAL" else str(row["task_type"]).lower()


def _raw_json(row: asyncpg.Record) -> dict[str, Any]:
    return {
        "kind": _kind(row),
        "startTime": timestamp(row["began_at"]),
        "endTime": timestamp(row["ended_at"]),
        "experimentId": row["experiment_id"] or 0,
        "username": row["owner"],
        "userId": row["owner_id"] or 0,
        "labels": row["labels"],
        "seconds": _seconds(row),
        "slots": row["slots"],
    }


async def raw_csv(call: Call) -> web.StreamResponse:
    """The same, as CSV."""
    columns = ("experiment_id", "kind", "username", "labels", "slots", "start_time", "end_time", "seconds")
    rows = (
        (
            *(row["experiment_id"] or "", _kind(row), row["owner"], ",".join(row["labels"]), row["slots"]),
            *(timestamp(row["began_at"]), timestamp(row["ended_at"]), _seconds(row)),
        )
        for row in await _held(call)
    )
    return _csv(columns, rows)


async def allocations_csv(call: Call) -> web.StreamResponse:
    """Every allocation that held slots between two instants, as CSV."""
    columns = (
        *("allocation_id", "task_type", "username", "workspace_name", "experiment_id", "slots", "start_time"),
        *("end_time", "imagepulling_time", "slot_hours", "resource_pool"),
    )
    rows = (
        (
            *(row["allocation_id"], row["task_type"], row["owner"], row["workspace"], row["experiment_id"] or ""),
            *(row["slots"], timestamp(row["began_at"]), timestamp(row["ended_at"]), 0),
            *(row["slots"] * _seconds(row) / 3600, row["pool"]),
        )
        for row in await _held(call)
    )
    return _csv(columns, rows)


async def aggregated(call: Call) -> dict[str, Any]:
    """Slot-seconds by day or month, in all and by user, label and pool."""
    return {"resourceEntries": await _aggregated(call)}


async def aggregated_csv(call: Call) -> web.StreamResponse:
    """The same, as CSV."""
    entries = await _aggregated(call)
    rows = [
        (kind, key, entry["periodStart"], seconds)
        for entry in entries
        for field, kind in AGGREGATION_TYPES.items()
        for key, seconds in sorted(entry[field].items())
    ]
    totals = [("total", "total", entry["periodStart"], entry["seconds"]) for entry in entries]
    return _csv(("aggregation_type", "aggregation_key", "date", "seconds"), [*rows, *totals])


async def _aggregated(call: Call) -> list[dict[str, Any]]:
    now, monthly = call.gateway.context.now(), _is_monthly(call)
    first, last = _day(call, "startDate"), min(_day(call, "endDate"), now)
    if monthly:
        first = first.replace(day=1)
    if (last - first).days > PERIODS_MOST:
        raise InvalidConfig(f"startDate: {first:%Y-%m-%d} is too long ago; ask for {PERIODS_MOST} days or fewer")
    asked = (first, last, now, "1 month" if monthly else "1 day")
    shown = {began_at: _entry(began_at, monthly) for began_at in _periods(first, last, monthly)}
    for field, sql in BY.items():
        for row in await call.gateway.read.rows(sql, *asked):
            shown[row["began_at"]][field][row["key"]] = row["seconds"]
    for row in await call.gateway.read.rows(TOTAL, *asked):
        shown[row["began_at"]]["seconds"] = row["seconds"]
    return list(shown.values())


def _entry(began_at: datetime, monthly: bool) -> dict[str, Any]:
    return {
        "periodStart": f"{began_at:%Y-%m}" if monthly else f"{began_at:%Y-%m-%d}",
        "period": MONTHLY if monthly else DAILY,
        "seconds": 0.0,
        **{field: {} for field in BY},
    }


def _periods(first: datetime, last: datetime, monthly: bool) -> Iterable[datetime]:
    while first <= last:
        yield first
        later = first + timedelta(days=32 if monthly else 1)
        first = later.replace(day=1) if monthly else later


def _is_monthly(call: Call) -> bool:
    asked = call.query.text("period")
    if asked not in (DAILY, MONTHLY, "1", "2"):
        raise InvalidConfig(f"period: expected {DAILY} or {MONTHLY}; found {asked!r}")
    return asked in (MONTHLY, "2")


def _instant(call: Call, name: str) -> datetime:
    found = instant(call.query.text(name), name)
    if found is None:
        raise InvalidConfig(f"{name}: expected an instant, such as 2026-01-31T12:00:00Z; found none")
    return found


def _day(call: Call, name: str) -> datetime:
    text = call.query.text(name)
    try:
        found = date.fromisoformat(f"{text}-01" if len(text) == len("2026-01") else text)
    except ValueError:
        raise InvalidConfig(f"{name}: expected a day, as in 2026-01-31, or a month; found {text!r}") from None
    return datetime(found.year, found.month, found.day, tzinfo=UTC)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> web.StreamResponse:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return web.Response(text=text.getvalue(), content_type="text/csv")


VIEW = SIGNED_IN.to("cluster.usage.view").outside()
API = "/api/v1/resources/allocation"
CSV = "/resources/allocation"

ROUTES = (
    Route("ResourceAllocationRaw", "GET", f"{API}/raw", raw, VIEW),
    Route("ResourceAllocationAggregated", "GET", f"{API}/aggregated", aggregated, VIEW),
    Route("ResourceAllocationRawCSV", "GET", f"{CSV}/raw", raw_csv, VIEW),
    Route("ResourceAllocationAllocationsCSV", "GET", f"{CSV}/allocations-csv", allocations_csv, VIEW),
    Route("ResourceAllocationAggregatedCSV", "GET", f"{CSV}/aggregated", aggregated_csv, VIEW),
)
