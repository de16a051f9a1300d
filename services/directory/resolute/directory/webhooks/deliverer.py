"""Sends what is due, at least once, with growing pauses, and records in the log what came of it.

What is due is known from the log alone, so that a replica that starts goes on where others ended. The deliverer follows
the log for news; what it holds in memory is when to look at which stream again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from uuid import uuid4

import structlog
from prometheus_client import Counter, Gauge

from resolute.directory.webhooks import bodies, deliveries
from resolute.directory.webhooks.deliveries import Begin, Deliveries, Fail, GiveUp, Step, Succeed
from resolute.directory.webhooks.registered import Webhook, Webhooks
from resolute.directory.webhooks.sender import Answer, Send
from resolute.eventlog import Appended, EventLog
from resolute.proto import streams
from resolute.proto.errors import Unavailable
from resolute.proto.message import Cause, Recorded
from resolute.proto.webhooks import DeliveryDue, DeliveryTried
from resolute.service import Aggregates, Patience
from resolute.service.sealed_urls import unseal
from resolute.service.sealing import CannotOpen

log_ = structlog.get_logger()

AT_ONCE = 32
"""Receivers that are sent something at the same time."""

LOOK_MAX_S = 30.0
"""However long nothing is due, the clock is looked at so often."""

AT_ONCE_DUE = datetime.min.replace(tzinfo=UTC)

ATTEMPTS = Counter("resolute_webhook_attempts", "Requests to receivers of webhooks, by what came of them", ["outcome"])
OPEN = Gauge("resolute_webhook_receivers_waiting", "Webhooks with deliveries that have not ended")

for _each in ("delivered", "failed", "given_up"):
    ATTEMPTS.labels(_each)  # an alert on its growth needs to see the zero


class Deliverer:
    """A `Consumer` of the log, beside `run`, which sends."""

    def __init__(
        self,
        log: EventLog,
        webhooks: Aggregates[Webhooks],
        opened: Aggregates[Deliveries],
        send: Send,
        *,
        now: Callable[[], datetime],
        secret: bytes,
        signing_key: str,
        base_url: str = "",
    ) -> None:
        self._log, self._webhooks, self._opened, self._send, self._now = log, webhooks, opened, send, now
        self._secret, self._signing_key, self._base_url = secret, signing_key, base_url
        self._look_at: dict[int, datetime] = {}
        """By webhook with open deliveries: when to look at them next."""
        self._busy: set[int] = set()
        self._news = asyncio.Event()
        self._room = asyncio.Semaphore(AT_ONCE)

    # ------------------------------------------------------------ following the log

    async def position(self) -> int:
        """Everything that is open is looked at once, so that only what comes later needs to be followed."""
        head = await self._log.head()
        for stream in await self._log.stream_names(streams.DELIVERIES.name):
            self._look_at[int(streams.key_of(stream))] = AT_ONCE_DUE
        self._news.set()
        return head

    async def handle(self, batch: Sequence[Recorded]) -> None:
        for recorded in batch:
            if recorded.category == streams.DELIVERIES.name:
                self._look_at[int(recorded.key)] = AT_ONCE_DUE
                self._news.set()

    # ------------------------------------------------------------ sending

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._news.clear()
                for webhook_id in self._to_look_at():
                    self._busy.add(webhook_id)
                    tasks.create_task(self._serve(webhook_id))
                OPEN.set(len(self._look_at))
                try:
                    async with asyncio.timeout(self._pause_s()):
                        await self._news.wait()
                except TimeoutError:
                    pass

    async def deliver_due(self) -> datetime | None:
        """Send everything that can be sent now; answers when there is more to send, None for never."""
        while found := self._to_look_at():
            for webhook_id in found:
                await self._deliver(webhook_id)
        return min(self._look_at.values(), default=None)

    def _to_look_at(self) -> list[int]:
        now = self._now()
        return [one for one, at in self._look_at.items() if at <= now and one not in self._busy]

    def _pause_s(self) -> float:
        waiting = [at for one, at in self._look_at.items() if one not in self._busy]
        if not waiting:
            return LOOK_MAX_S
        return min(max((min(waiting) - self._now()).total_seconds(), 0.0), LOOK_MAX_S)

    async def _serve(self, webhook_id: int) -> None:
        patience = Patience()
        try:
            async with self._room:
                while True:
                    try:
                        return await self._deliver(webhook_id)
                    except Unavailable as error:
                        await patience.wait("webhooks", error)
        finally:
            self._busy.discard(webhook_id)
            self._news.set()

    async def _deliver(self, webhook_id: int) -> None:
        """One round: every delivery of this webhook that can be sent now."""
        stream = streams.DELIVERIES.stream(webhook_id)
        self._look_at.pop(webhook_id, None)  # news that come from here on are looked at again
        found = await self._opened.state(stream)
        for delivery_id in found.sendable(self._now()):
            webhook = (await self._webhooks.state(streams.WEBHOOK_DIRECTORY)).by_id.get(webhook_id)
            if webhook is None:
                await self._execute(stream, GiveUp(delivery_id, "the webhook was deleted"))
            elif delivery_id in found.sendable(self._now()):
                await self._attempt(stream, webhook, delivery_id)
        next_at = (await self._opened.state(stream)).next_at()
        if next_at is not None and webhook_id not in self._look_at:
            self._look_at[webhook_id] = next_at

    async def _attempt(self, stream: str, webhook: Webhook, delivery_id: str) -> None:
        begun = await self._execute(stream, Begin(delivery_id, self._now()))
        for recorded in begun.events:
            if isinstance(recorded.event, DeliveryTried):
                due = (await self._opened.state(stream)).open[delivery_id].due
                answer = await self._sent(webhook, due)
                await self._execute(stream, _outcome(delivery_id, recorded.event.attempt, answer, self._now()))
                self._note(webhook, delivery_id, answer)

    async def _sent(self, webhook: Webhook, due: DeliveryDue) -> Answer:
        try:
            url = unseal(self._secret, webhook.url)
        except CannotOpen:
            return Answer(why="its address was sealed under another secret of the cluster: set the address again")
        body = bodies.body(due, webhook.form, self._base_url)
        headers = bodies.signature(self._signing_key, int(self._now().timestamp()), body)
        return await self._send(url, body, headers)

    def _note(self, webhook: Webhook, delivery_id: str, answer: Answer) -> None:
        outcome = "delivered" if answer.succeeded else "given_up" if answer.final else "failed"
        ATTEMPTS.labels(outcome).inc()
        if not answer.succeeded:
            log_.warning(
                "webhook not delivered", webhook_id=webhook.webhook_id, delivery_id=delivery_id, why=answer.why
            )

    async def _execute(self, stream: str, step: Step) -> Appended:
        # Each attempt of each replica has a cause of its own: an append that another one made does not count as ours.
        cause = Cause(f"webhook-{uuid4()}", actor="webhooks")
        return await self._opened.execute(stream, lambda found: deliveries.decide(step, found), cause)


def _outcome(delivery_id: str, attempt: int, answer: Answer, now: datetime) -> Step:
    if answer.succeeded and answer.status is not None:
        return Succeed(delivery_id, answer.status)
    return Fail(delivery_id, attempt, answer.why, now, answered=answer.status is not None, final=answer.final)
