"""The deliveries of one webhook, a stream for each webhook (`deliveries-7`): due, tried, and delivered or given up.

A replica of the directory records that an attempt begins before it sends the request. The log takes that event from
one replica alone, so that of several replicas one sends. A replica that dies meanwhile leaves an attempt without an
outcome: when its time is over, the next attempt begins. So a receiver gets each delivery at least once, and knows a
repeated one by its id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from resolute.proto.message import Event
from resolute.proto.webhooks import (
    DeliveryDue,
    DeliveryFailed,
    DeliveryGivenUp,
    DeliverySucceeded,
    DeliveryTried,
)

PAUSE_FIRST_S, PAUSE_MAX_S = 1.0, 600.0
"""Between two attempts: doubled each time."""

GIVEN_UP_AFTER = timedelta(hours=24)
"""A receiver that has not answered for so long is not tried again."""

ATTEMPT_MAX = timedelta(seconds=30)
"""An attempt without an outcome counts as interrupted after this: longer than a request may take."""

State = Enum("State", "ABSENT DUE TRYING DELIVERED GIVEN_UP")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, DeliveryDue): State.DUE,
    (State.DUE, DeliveryTried): State.TRYING,
    (State.TRYING, DeliveryTried): State.TRYING,
    (State.TRYING, DeliveryFailed): State.DUE,
    (State.TRYING, DeliverySucceeded): State.DELIVERED,
    (State.TRYING, DeliveryGivenUp): State.GIVEN_UP,
    (State.DUE, DeliveryGivenUp): State.GIVEN_UP,
}
"""Of one delivery. One that has ended is forgotten."""


@dataclass(slots=True)
class Delivery:
    """Owned by the fold that grows it."""

    due: DeliveryDue
    next_at: datetime
    """When the next attempt may begin."""
    state: State = State.DUE
    attempts: int = 0


@dataclass(slots=True)
class Deliveries:
    """Those that have not ended, the oldest first. Owned by the fold that grows it."""

    open: dict[str, Delivery] = field(default_factory=dict)
    waits_until: datetime | None = None
    """The receiver did not answer: until then nothing is sent to it. Then the oldest delivery is tried first."""

    def next_at(self) -> datetime | None:
        """When something can be sent; None where nothing is open."""
        if not self.open:
            return None
        first = min(one.next_at for one in self.open.values())
        return first if self.waits_until is None else max(first, self.waits_until)

    def sendable(self, now: datetime) -> list[str]:
        """The deliveries whose next attempt may begin."""
        if self.waits_until is not None and self.waits_until > now:
            return []
        return [delivery_id for delivery_id, one in self.open.items() if one.next_at <= now]


# ---------------------------------------------------------------- what the directory asks of itself


@dataclass(frozen=True, slots=True)
class Begin:
    """An attempt begins now."""

    delivery_id: str
    now: datetime


@dataclass(frozen=True, slots=True)
class Succeed:
    delivery_id: str
    status: int


@dataclass(frozen=True, slots=True)
class Fail:
    """`answered`: the receiver is there. `final`: the receiver has refused, and would refuse again."""

    delivery_id: str
    attempt: int
    why: str
    now: datetime
    answered: bool = False
    final: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    delivery_id: str
    why: str


Step = Begin | Succeed | Fail | GiveUp


def decide(step: Step, deliveries: Deliveries) -> list[Event]:
    """Nothing for a delivery that has ended, or that another replica has begun to send."""
    delivery = deliveries.open.get(step.delivery_id)
    if delivery is None:
        return []
    match step:
        case Begin(delivery_id=delivery_id, now=now):
            if delivery_id not in deliveries.sendable(now):
                return []
            return [DeliveryTried(delivery_id, delivery.attempts + 1, now + ATTEMPT_MAX)]
        case Succeed(delivery_id=delivery_id, status=status):
            return [DeliverySucceeded(delivery_id, status)] if delivery.state is State.TRYING else []
        case Fail(attempt=attempt):
            current = delivery.state is State.TRYING and delivery.attempts == attempt
            return [_failed(step, delivery)] if current else []
        case GiveUp(delivery_id=delivery_id, why=why):
            return [DeliveryGivenUp(delivery_id, why)]


def _failed(fail: Fail, delivery: Delivery) -> Event:
    if fail.final:
        return DeliveryGivenUp(fail.delivery_id, fail.why)
    again_at = fail.now + pause(fail.attempt)
    if again_at > delivery.due.happened_at + GIVEN_UP_AFTER:
        hours = GIVEN_UP_AFTER / timedelta(hours=1)
        return DeliveryGivenUp(fail.delivery_id, f"no success within {hours:g} hours; at last: {fail.why}")
    return DeliveryFailed(fail.delivery_id, fail.attempt, fail.why, again_at, fail.answered)


def pause(attempt: int) -> timedelta:
    """Between this attempt, 1 for the first, and the next."""
    doublings = min(attempt - 1, 20)
    return timedelta(seconds=min(PAUSE_FIRST_S * 2**doublings, PAUSE_MAX_S))


def evolve(deliveries: Deliveries, event: Event) -> Deliveries:
    match event:
        case DeliveryDue(delivery_id=delivery_id, happened_at=happened_at):
            assert FLOW[_state(deliveries, delivery_id), type(event)] is State.DUE
            deliveries.open[delivery_id] = Delivery(event, next_at=happened_at)
            return deliveries
        case (
            DeliveryTried(delivery_id=delivery_id)
            | DeliveryFailed(delivery_id=delivery_id)
            | DeliverySucceeded(delivery_id=delivery_id)
            | DeliveryGivenUp(delivery_id=delivery_id)
        ):
            delivery = deliveries.open[delivery_id]
            delivery.state = FLOW[delivery.state, type(event)]
            _learn(deliveries, delivery, event)
            if delivery.state in (State.DELIVERED, State.GIVEN_UP):
                del deliveries.open[delivery_id]
            return deliveries
    raise AssertionError(f"not an event of deliveries: {event}")


def _learn(deliveries: Deliveries, delivery: Delivery, event: Event) -> None:
    match event:
        case DeliveryTried(attempt=attempt, until=until):
            delivery.attempts, delivery.next_at = attempt, until
        case DeliveryFailed(again_at=again_at, answered=answered):
            delivery.next_at = again_at
            deliveries.waits_until = None if answered else again_at
        case DeliverySucceeded() | DeliveryGivenUp():
            deliveries.waits_until = None


def _state(deliveries: Deliveries, delivery_id: str) -> State:
    delivery = deliveries.open.get(delivery_id)
    return State.ABSENT if delivery is None else delivery.state
