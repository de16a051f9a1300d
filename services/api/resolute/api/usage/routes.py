"""The handlers that show what the cluster was used for, and the route of each.

An allocation holds its slots from when it was given them until the last of it was gone, as the log has both. Seconds
of a day or month are slot-seconds; of an allocation they are the seconds for which it held all of its slots.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime

from aiohttp import web

from resolute.api.call import Call
from resolute.api.kernel.operations import download, operation
from resolute.api.routing import SIGNED_IN
from resolute.api.usage.messages import (
    AggregatedAnswer,
    AggregatedEntry,
    GetAggregated,
    GetRaw,
    Period,
    RawAnswer,
    RawEntry,
)
from resolute.api.usage.periods import asked_for, beginnings
from resolute.api.usage.queries import QUERIES, By, HeldRow, UsageQueries
from resolute.api.wire import instant, timestamp
from resolute.proto.errors import InvalidConfig

Cell = str | int | float | None


async def raw(call: Call, request: GetRaw) -> RawAnswer:
    """Every allocation that held slots between two instants, with the part of its time that lies between them."""
    return RawAnswer(resource_entries=tuple(map(_shown, await _held(call, request))))


async def raw_csv(call: Call, request: GetRaw) -> web.StreamResponse:
    """The same, as CSV."""
    columns = ("experiment_id", "kind", "username", "labels", "slots", "start_time", "end_time", "seconds")
    rows = (
        (
            *(row.experiment_id or "", _kind(row), row.owner, ",".join(row.labels), row.slots),
            *(timestamp(row.began_at), timestamp(row.ended_at), _seconds(row)),
        )
        for row in await _held(call, request)
    )
    return _csv(columns, rows)


async def allocations_csv(call: Call, request: GetRaw) -> web.StreamResponse:
    """Every allocation that held slots between two instants, as CSV."""
    columns = (
        *("allocation_id", "task_type", "username", "workspace_name", "experiment_id", "slots", "start_time"),
        *("end_time", "imagepulling_time", "slot_hours", "resource_pool"),
    )
    rows = (
        (
            *(row.allocation_id, row.task_type, row.owner, row.workspace, row.experiment_id or ""),
            *(row.slots, timestamp(row.began_at), timestamp(row.ended_at), 0),
            *(row.slots * _seconds(row) / 3600, row.pool),
        )
        for row in await _held(call, request)
    )
    return _csv(columns, rows)


async def aggregated(call: Call, request: GetAggregated) -> AggregatedAnswer:
    """Slot-seconds by day or month, in all and by user, label and pool."""
    return AggregatedAnswer(resource_entries=tuple(await _aggregated(call, request)))


async def aggregated_csv(call: Call, request: GetAggregated) -> web.StreamResponse:
    """The same, as CSV."""
    entries = await _aggregated(call, request)
    rows = [
        (kind, key, entry.period_start, seconds)
        for entry in entries
        for kind, sums in (
            ("experiment_label", entry.by_experiment_label),
            ("username", entry.by_username),
            ("resource_pool", entry.by_resource_pool),
        )
        for key, seconds in sorted(sums.items())
    ]
    totals = [("total", "total", entry.period_start, entry.seconds) for entry in entries]
    return _csv(("aggregation_type", "aggregation_key", "date", "seconds"), [*rows, *totals])


# ---------------------------------------------------------------- what requests ask for


def _queries(call: Call) -> UsageQueries:
    return call.gateway.ports.of(QUERIES)


async def _held(call: Call, request: GetRaw) -> Sequence[HeldRow]:
    after = _instant(request.timestamp_after, "timestampAfter")
    before = _instant(request.timestamp_before, "timestampBefore")
    if before <= after:
        raise InvalidConfig(f"timestampBefore: expected an instant after timestampAfter; found {timestamp(before)}")
    return await _queries(call).held(call.outside, after, before, call.gateway.context.now())


def _instant(text: str, name: str) -> datetime:
    found = instant(text, name)
    if found is None:
        raise InvalidConfig(f"{name}: expected an instant, such as 2026-01-31T12:00:00Z; found none")
    return found


async def _aggregated(call: Call, request: GetAggregated) -> list[AggregatedEntry]:
    now = call.gateway.context.now()
    periods = asked_for(request, now)
    sums: dict[tuple[datetime, By], dict[str, float]] = {}
    for by in By:
        for one in await _queries(call).sums(call.outside, by, periods, now):
            sums.setdefault((one.began_at, by), {})[one.key] = one.seconds
    return [_entry(began_at, periods.monthly, sums) for began_at in beginnings(periods)]


# ---------------------------------------------------------------- what answers show


def _shown(row: HeldRow) -> RawEntry:
    return RawEntry(
        kind=_kind(row),
        start_time=row.began_at,
        end_time=row.ended_at,
        experiment_id=row.experiment_id or 0,
        username=row.owner,
        user_id=row.owner_id or 0,
        labels=row.labels,
        seconds=_seconds(row),
        slots=row.slots,
    )


def _seconds(row: HeldRow) -> float:
    return (row.ended_at - row.began_at).total_seconds()


def _kind(row: HeldRow) -> str:
    return "training" if row.task_type == "TRIAL" else row.task_type.lower()


def _entry(began_at: datetime, monthly: bool, sums: dict[tuple[datetime, By], dict[str, float]]) -> AggregatedEntry:
    return AggregatedEntry(
        period_start=f"{began_at:%Y-%m}" if monthly else f"{began_at:%Y-%m-%d}",
        period=Period.MONTHLY if monthly else Period.DAILY,
        seconds=sums.get((began_at, By.WHOLE), {}).get("", 0.0),
        by_username=sums.get((began_at, By.OWNER), {}),
        by_experiment_label=sums.get((began_at, By.LABEL), {}),
        by_resource_pool=sums.get((began_at, By.POOL), {}),
    )


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> web.StreamResponse:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return web.Response(text=text.getvalue(), content_type="text/csv")


VIEW = SIGNED_IN.to("cluster.usage.view").outside()
API = "/api/v1/resources/allocation"
CSV = "/resources/allocation"
TAG = "Cluster"
FILES = "Outside /api/v1"

ROUTES = (
    operation("ResourceAllocationRaw", "GET", f"{API}/raw", raw, VIEW, request=GetRaw, response=RawAnswer, tag=TAG),
    operation(
        "ResourceAllocationAggregated",
        "GET",
        f"{API}/aggregated",
        aggregated,
        VIEW,
        request=GetAggregated,
        response=AggregatedAnswer,
        tag=TAG,
    ),
    download(
        "ResourceAllocationRawCSV", "GET", f"{CSV}/raw", raw_csv, VIEW, request=GetRaw, produces="text/csv", tag=FILES
    ),
    download(
        "ResourceAllocationAllocationsCSV",
        "GET",
        f"{CSV}/allocations-csv",
        allocations_csv,
        VIEW,
        request=GetRaw,
        produces="text/csv",
        tag=FILES,
    ),
    download(
        "ResourceAllocationAggregatedCSV",
        "GET",
        f"{CSV}/aggregated",
        aggregated_csv,
        VIEW,
        request=GetAggregated,
        produces="text/csv",
        tag=FILES,
    ),
)
