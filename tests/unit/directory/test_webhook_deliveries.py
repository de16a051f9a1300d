"""Deliveries: at least once with growing pauses, once by id, by one replica, through crashes and absent receivers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from resolute.directory.webhooks import deliveries, registered
from resolute.directory.webhooks.deliverer import Deliverer
from resolute.directory.webhooks.deliveries import Deliveries
from resolute.directory.webhooks.registered import Webhooks
from resolute.directory.webhooks.sender import Answer
from resolute.eventlog import MemoryEventLog
from resolute.proto import streams
from resolute.proto.message import Cause, Event
from resolute.proto.webhooks import (
    DeliveryDue,
    DeliveryFailed,
    DeliveryGivenUp,
    DeliverySucceeded,
    DeliveryTried,
    Trigger,
    TriggerKind,
    WebhookCreated,
    WebhookDeleted,
    WebhookTrigger,
)
from resolute.service import Aggregates
from resolute.service.sealed_urls import seal

BEGINNING = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)

SECRET = b"a secret for tests"

STREAM = streams.DELIVERIES.stream(1)

AWAY = Answer(why="cannot be reached: ConnectionRefusedError")


class ProcessDied(BaseException):
    """As `kill -9` in the middle of a request."""


class Receiver:
    """Answers with `answer`, and keeps the ids that it took."""

    def __init__(self) -> None:
        self.answer = Answer(200)
        self.asked: list[str] = []
        self.took: list[str] = []
        self.dies = False

    async def __call__(self, url: str, sent: bytes, headers: Mapping[str, str]) -> Answer:
        assert url == "https://receiver/token"
        assert "X-Determined-AI-Signature" in headers
        event_id = json.loads(sent)["event_id"]
        self.asked.append(event_id)
        if self.answer.succeeded:
            self.took.append(event_id)
        if self.dies:
            self.dies = False
            raise ProcessDied
        return self.answer


class World:
    """A log with one webhook, a clock that is set by hand, and one receiver."""

    def __init__(self) -> None:
        self.now = BEGINNING
        self.log = MemoryEventLog(lambda: self.now)
        self.receiver = Receiver()

    def replica(self) -> Deliverer:
        """A process of the directory that has just started."""
        return Deliverer(
            self.log,
            Aggregates(self.log, Webhooks, registered.evolve),
            Aggregates(self.log, Deliveries, deliveries.evolve),
            self.receiver,
            now=lambda: self.now,
            secret=SECRET,
            signing_key="key",
        )

    async def started(self) -> Deliverer:
        replica = self.replica()
        await replica.position()
        return replica

    async def tell(self, stream: str, *events: Event) -> None:
        version = len(await self.log.read_stream(stream))
        await self.log.append(stream, events, expected_version=version, cause=Cause(f"{stream}@{version}"))

    async def due(self, *ids: str) -> None:
        """With the webhook that is sent them, if there is none yet."""
        if not await self.log.read_stream(streams.WEBHOOK_DIRECTORY):
            trigger = WebhookTrigger(1, Trigger(TriggerKind.STATE_CHANGE, state="COMPLETED"))
            url = seal(SECRET, "https://receiver/token")
            made = WebhookCreated(1, "ours", url, "DEFAULT", "WORKSPACE", (trigger,), owner_id=1)
            await self.tell(streams.WEBHOOK_DIRECTORY, made)
        for one in ids:
            await self.tell(STREAM, DeliveryDue(one, 1, 1, TriggerKind.STATE_CHANGE, self.now, data={"experiment": {}}))

    async def events(self) -> list[Event]:
        return [one.event for one in await self.log.read_stream(STREAM)]

    async def run(self, replica: Deliverer, until: datetime) -> None:
        """Let the time pass, from one thing that is due to the next."""
        while (next_at := await replica.deliver_due()) is not None and next_at <= until:
            self.now = max(self.now, next_at)
        self.now = until


@pytest.fixture
async def world() -> World:
    return World()


async def test_what_is_due_is_delivered_once(world: World) -> None:
    await world.due("a", "b")
    replica = await world.started()
    assert await replica.deliver_due() is None
    assert world.receiver.took == ["a", "b"]
    assert DeliverySucceeded("a", 200) in await world.events()
    again = await world.started()
    await again.deliver_due()
    assert world.receiver.took == ["a", "b"]


async def test_a_receiver_that_is_away_for_an_hour_gets_each_delivery_once_afterwards(world: World) -> None:
    world.receiver.answer = AWAY
    await world.due("a")
    replica = await world.started()
    await world.run(replica, BEGINNING + timedelta(minutes=5))
    await world.due("b", "c")
    replica = await world.started()
    await world.run(replica, BEGINNING + timedelta(hours=1))
    asked = len(world.receiver.asked)
    assert 8 < asked < 30, "growing pauses: some requests in an hour, not thousands"
    world.receiver.answer = Answer(200)
    await world.run(replica, BEGINNING + timedelta(hours=2))
    assert sorted(world.receiver.took) == ["a", "b", "c"]
    assert await replica.deliver_due() is None


async def test_pauses_double_up_to_ten_minutes_and_a_day_is_the_end(world: World) -> None:
    assert [deliveries.pause(one).total_seconds() for one in (1, 2, 3, 10, 11, 99)] == [1, 2, 4, 512, 600, 600]
    world.receiver.answer = Answer(503, "it answered with 503")
    await world.due("a")
    replica = await world.started()
    await world.run(replica, BEGINNING + timedelta(hours=30))
    last = (await world.events())[-1]
    assert isinstance(last, DeliveryGivenUp)
    assert last.why == "no success within 24 hours; at last: it answered with 503"
    assert await replica.deliver_due() is None


async def test_one_delivery_that_a_receiver_fails_at_does_not_hold_up_the_others(world: World) -> None:
    world.receiver.answer = Answer(500, "it answered with 500")
    await world.due("a", "b")
    replica = await world.started()
    await replica.deliver_due()
    assert world.receiver.asked == ["a", "b"]


async def test_a_refusal_ends_a_delivery(world: World) -> None:
    world.receiver.answer = Answer(404, "it answered with 404", final=True)
    await world.due("a")
    replica = await world.started()
    assert await replica.deliver_due() is None
    assert (await world.events())[-1] == DeliveryGivenUp("a", "it answered with 404")


async def test_a_process_that_dies_while_it_sends_loses_nothing(world: World) -> None:
    world.receiver.answer, world.receiver.dies = AWAY, True
    await world.due("a")
    replica = await world.started()
    with pytest.raises(ProcessDied):
        await replica.deliver_due()
    world.receiver.answer = Answer(200)
    next_one = await world.started()
    at = await next_one.deliver_due()
    assert at is not None
    assert world.receiver.took == [], "another replica may still be at it"
    world.now = at
    await next_one.deliver_due()
    assert world.receiver.took == ["a"]
    tried = [one for one in await world.events() if isinstance(one, DeliveryTried)]
    assert [one.attempt for one in tried] == [1, 2]


async def test_a_repeated_request_has_the_same_id(world: World) -> None:
    world.receiver.dies = True
    await world.due("a")
    with pytest.raises(ProcessDied):
        await (await world.started()).deliver_due()
    world.now += deliveries.ATTEMPT_MAX
    await (await world.started()).deliver_due()
    assert world.receiver.took == ["a", "a"], "a receiver knows the second by its id"


async def test_of_several_replicas_one_sends(world: World) -> None:
    replicas = [await world.started() for _ in range(3)]
    await world.due("a", "b")
    for replica in replicas:
        await replica.position()
        await replica.deliver_due()
    assert world.receiver.asked == ["a", "b"]


async def test_what_comes_while_the_deliverer_runs_is_noticed_by_the_log(world: World) -> None:
    replica = await world.started()
    assert await replica.deliver_due() is None
    await world.due("a")
    await replica.handle(await world.log.read_all(0))
    await replica.deliver_due()
    assert world.receiver.took == ["a"]


async def test_what_a_deleted_webhook_would_have_been_sent_is_given_up(world: World) -> None:
    await world.due("a")
    await world.tell(streams.WEBHOOK_DIRECTORY, WebhookDeleted(1))
    await (await world.started()).deliver_due()
    assert (await world.events())[-1] == DeliveryGivenUp("a", "the webhook was deleted")
    assert world.receiver.asked == []


async def test_an_address_that_does_not_open_is_told_and_tried_again(world: World) -> None:
    await world.due("a")
    replica = world.replica()
    replica._secret = b"another secret"
    await replica.position()
    await replica.deliver_due()
    failed = (await world.events())[-1]
    assert isinstance(failed, DeliveryFailed)
    assert "set the address again" in failed.why


def test_a_late_failure_of_an_attempt_that_another_has_followed_changes_nothing() -> None:
    due = DeliveryDue("a", 1, 1, TriggerKind.STATE_CHANGE, BEGINNING)
    state = Deliveries()
    until = BEGINNING + timedelta(seconds=30)
    for event in (due, DeliveryTried("a", 1, until), DeliveryTried("a", 2, until + timedelta(seconds=30))):
        deliveries.evolve(state, event)
    assert deliveries.decide(deliveries.Fail("a", 1, "late", until), state) == []
    assert deliveries.decide(deliveries.Succeed("a", 200), state) == [DeliverySucceeded("a", 200)]
