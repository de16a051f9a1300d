"""The interface of the bus: commands with an answer, facts from the log, and the messages of agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from resolute.proto.message import Cause, Command, Recorded, Reply

T = TypeVar("T")

CommandHandler = Callable[[Command, Cause], Awaitable[Reply]]


class Subscription(Protocol):
    async def close(self) -> None:
        """No further message is delivered; handlers that have begun may finish."""
        ...


class Bus(Protocol):
    """NATS on a cluster, queues in memory in a simulation. The bus may lose all that it holds: the log has it."""

    async def request(self, command: Command, cause: Cause, timeout_s: float = 10.0) -> Reply:
        """Ask the service that decides `command`, on `resolute.cmd.<service>.<verb>`.

        Raises the error the service answered with (`Refused`, `NotFound`, …), or `Unavailable` when none answered:
        then the outcome is unknown, and asking again with the same cause is safe.
        """
        ...

    async def serve(self, service: str, handle: CommandHandler) -> Subscription:
        """Handle the commands of `service`; replicas share them (a queue group). Commands are handled concurrently."""
        ...

    async def publish_fact(self, recorded: Recorded) -> bool:
        """Publish under the event's own id; False when the bus recognised a repeat. Raises Unavailable."""
        ...

    async def last_fact(self) -> int:
        """The position of the newest fact the bus holds; 0 when it holds none, as after a wipe."""
        ...

    async def facts(self, deliver: Callable[[Recorded], None]) -> Subscription:
        """Deliver facts published from now on, as they come. Gaps and repeats are possible: a reader that needs every
        fact counts positions and reads missing events from the log, as `resolute.service.Follower` does."""
        ...

    async def publish(self, subject: str, message: Any) -> None:
        """Send a dataclass to the subscriptions of this moment."""
        ...

    async def ask(self, subject: str, message: Any, answer: type[T], timeout_s: float = 5.0) -> T:
        """Send a dataclass and wait for one of kind `answer`. Raises Unavailable (Unserved where there is no
        subscription), or the error that was answered."""
        ...

    async def listen(
        self, subject: str, kind: type[T], handle: Callable[[T], Awaitable[Any]], *, queue: str = ""
    ) -> Subscription:
        """Handle every `kind` sent to `subject` (`*` and `>` match tokens). What `handle` returns is sent as the answer
        where the sender asked for one. With `queue`, the members of that queue share the messages."""
        ...

    async def close(self) -> None: ...
