"""Serves commands and the messages of agents, guarded against messages that end the process (`poison_guard`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from resolute.bus import CommandHandler, Subscription, subjects
from resolute.proto.message import Cause, Command, Reply
from resolute.service.context import Context
from resolute.service.poison_guard import PoisonGuard

T = TypeVar("T")

KEY_CHARS_MAX = 300

AGENT_TURN_S = 3.0
"""How long a message of an agent waits for the message before it. Agents wait 5 s for an answer, and then send the
message again."""


@dataclass(frozen=True, slots=True)
class AgentMessages(Generic[T]):
    """Messages of one kind, which every agent sends again until it is answered."""

    what: str
    """The last part of the subject: `hello`, `report`."""
    kind: type[T]
    handle: Callable[[T], Awaitable[Any]]
    key: Callable[[T], str]
    """The same whenever the same message is sent again. It is written to the database, so it holds no secret."""
    answer: Callable[[Any], Awaitable[Any]] | None = None
    """Makes the answer from the result of `handle`, when that needs questions to other services. It runs outside of the
    guard: a death of the process meanwhile does not count against this message, and no other message waits for it."""


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A question of one kind that another service asks, and asks again until it is answered."""

    subject: str
    kind: type[T]
    handle: Callable[[T], Awaitable[Any]]
    key: Callable[[T], str]
    """The same whenever the same question is asked again. It is written to the database, so it holds no secret."""


async def serve_commands(
    context: Context,
    service: str,
    handle: CommandHandler,
    messages: Sequence[AgentMessages[Any]] = (),
    questions: Sequence[Question[Any]] = (),
) -> Subscription:
    """Handle the commands of `service`, as `Bus.serve` does, `messages` of agents and `questions` of other services,
    until the subscription is closed. Replicas of the service share them."""
    guard = PoisonGuard(context.log, service)

    async def guarded(command: Command, cause: Cause) -> Reply:
        return await guard.handle(type(command).__name__, cause.id, lambda: handle(command, cause))

    await guard.open()
    serving = _Serving(guard)
    try:
        serving.add(await context.bus.serve(service, guarded))
        await _listen(context, service, serving, messages)
        for one in questions:
            answer = _answering(guard, one)
            serving.add(await context.bus.listen(one.subject, one.kind, answer, queue=service))
    except BaseException:
        await serving.close()
        raise
    return serving


async def listen_to_agents(context: Context, service: str, messages: Sequence[AgentMessages[Any]]) -> Subscription:
    """Handle `messages` of agents, which replicas of the service share, until the subscription is closed."""
    serving = _Serving(PoisonGuard(context.log, service))
    await serving.guard.open()
    try:
        await _listen(context, service, serving, messages)
    except BaseException:
        await serving.close()
        raise
    return serving


class _Serving:
    """The subscriptions of one service, which are closed together."""

    def __init__(self, guard: PoisonGuard) -> None:
        self.guard = guard
        self._subscriptions: list[Subscription] = []

    def add(self, subscription: Subscription) -> None:
        self._subscriptions.append(subscription)

    async def close(self) -> None:
        for subscription in self._subscriptions:
            await subscription.close()
        await self.guard.close()


async def _listen(context: Context, service: str, serving: _Serving, messages: Sequence[AgentMessages[Any]]) -> None:
    for one in messages:
        handle = _guarded(serving.guard, one)
        serving.add(await context.bus.listen(subjects.agent("*", one.what), one.kind, handle, queue=service))


def _answering(guard: PoisonGuard, question: Question[T]) -> Callable[[T], Awaitable[Any]]:
    async def handle(message: T) -> Any:
        key = question.key(message)[:KEY_CHARS_MAX]
        return await guard.handle(question.kind.__name__, key, lambda: question.handle(message))

    return handle


def _guarded(guard: PoisonGuard, messages: AgentMessages[T]) -> Callable[[T], Awaitable[Any]]:
    async def handle(message: T) -> Any:
        key = messages.key(message)[:KEY_CHARS_MAX]
        found = await guard.handle(
            messages.kind.__name__, key, lambda: messages.handle(message), alone=True, turn_s=AGENT_TURN_S
        )
        return found if messages.answer is None else await messages.answer(found)

    return handle
