"""The messages about what the cluster was used for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from resolute.api.kernel.fields import Needed, WireEnum, text
from resolute.api.kernel.messages import InQuery, Message, Request

InstantText = Annotated[str, text(64)]
Day = Annotated[str, text(32)]
"""As in 2026-01-31, or a month, 2026-01."""


class Period(WireEnum, wire_name="v1ResourceAllocationAggregationPeriod"):
    UNSPECIFIED = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_UNSPECIFIED"
    DAILY = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
    MONTHLY = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"


class GetRaw(Request):
    timestamp_after: InQuery[Needed[InstantText]] = ""
    timestamp_before: InQuery[Needed[InstantText]] = ""


class GetAggregated(Request):
    end_date: InQuery[Needed[Day]] = ""
    """The last day, or month, that is shown."""
    period: InQuery[Needed[Period | None]] = None
    start_date: InQuery[Needed[Day]] = ""


class RawEntry(Message, wire_name="v1ResourceAllocationRawEntry"):
    """One allocation, with the part of its time that lies between the two instants."""

    kind: str = ""
    """`training`, or the type of the task in small letters."""
    start_time: datetime | None = None
    end_time: datetime | None = None
    experiment_id: int = 0
    username: str = ""
    user_id: int = 0
    labels: tuple[str, ...] = ()
    """Of the experiment."""
    seconds: float = 0.0
    slots: int = 0


class RawAnswer(Message, wire_name="v1ResourceAllocationRawResponse"):
    resource_entries: tuple[RawEntry, ...] = ()


Seconds = Mapping[str, float]
"""Slot-seconds, by name."""


class AggregatedEntry(Message, wire_name="v1ResourceAllocationAggregatedEntry"):
    """One day or month."""

    period_start: str
    period: Period
    seconds: float
    """Slot-seconds of all allocations."""
    by_username: Seconds
    by_experiment_label: Seconds
    by_resource_pool: Seconds


class AggregatedAnswer(Message, wire_name="v1ResourceAllocationAggregatedResponse"):
    resource_entries: tuple[AggregatedEntry, ...]
