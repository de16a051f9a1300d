"""The gateway's own routes, access rules, tokens, waits and commands, on what it has read of the log into memory.

Of the real gateway only what needs Postgres or a socket is stood in for: the read model's tables (`reading.py`), the
store of metrics, sign-in, and HTTP itself. Every request is parsed, authenticated, decided upon and handled by
`resolute.api`. That the real tables show what the log tells is tested with a real Postgres
(`tests/integration/api/test_simulated_stories.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from types import SimpleNamespace
from typing import Annotated, Any
from unittest import mock

import orjson
from pydantic import SecretStr

from resolute import codec
from resolute.api import answering, task_tokens
from resolute.api import gateway as api
from resolute.api.call import Call
from resolute.api.freshness import Freshness
from resolute.api.identity.projection import User
from resolute.api.kernel import messages as wire
from resolute.api.kernel.common import Name
from resolute.api.kernel.fields import JsonObject, text
from resolute.api.kernel.operations import operation
from resolute.api.kernel.ports import Ports
from resolute.api.measures.metrics import MetricRow
from resolute.api.places import Places
from resolute.api.request_body import RequestBody
from resolute.api.routing import SIGNED_IN, Principal, Route
from resolute.api.settings import ApiSettings
from resolute.api.signals import Signals
from resolute.api.table import ROUTES
from resolute.api.task_tokens import TaskTokens
from resolute.api.tasks.token_queries import TOKENS
from resolute.api.trials import lookup as trial_lookup
from resolute.api.uploads import Uploads
from resolute.proto import errors
from resolute.proto.errors import Unavailable
from resolute.proto.message import Command, Reply
from resolute.service import Context, Follower
from tests.simulation import clock
from tests.simulation.processes import Process, alive
from tests.simulation.reading import Reading

TRY_AGAIN_S = 0.5
PEOPLE = {"ada": Principal(1, "ada", admin=True)}
SINCE = datetime(2020, 1, 1, tzinfo=UTC)
USERS = tuple(
    User(one.user_id, name, one.admin, active=True, display_name="", remote=False, modified_at=SINCE)
    for name, one in PEOPLE.items()
)


class Wish(wire.Request):
    command: wire.InPath[Name]
    body: wire.InBody[Annotated[RequestBody, wire.unparsed(text(2**20))]]


class Done(wire.Message, wire_name="SimulatedWishDone"):
    position: int
    data: JsonObject


async def _any_command(call: Call, wish: Wish) -> Done:
    """For people: their wishes travel as commands, without the forms and tables around each; the way to the service
    that decides, and the answer once it shows here, are the gateway's."""
    reply = await call.send(codec.command_from(wish.command, wish.body.raw))
    return Done(position=reply.position, data=dict(reply.data))


ANY_COMMAND = operation(
    "SimulatedWish",
    "POST",
    "/simulated/{command}",
    _any_command,
    SIGNED_IN.outside(),
    request=Wish,
    response=Done,
    tag="Simulation",
)
OPERATIONS: Mapping[str, Route] = {route.operation: route for route in (*ROUTES, ANY_COMMAND)}


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict[str, Any]


@dataclass(eq=False)
class Unsent:
    """What was written of an answer: nothing, for the answer here is a value."""

    output_size: int = 0


@dataclass(eq=False)
class Request:
    """As far as the gateway looks at one."""

    method: str
    path: str
    match_info: dict[str, str]
    raw: bytes
    headers: dict[str, str]
    query: dict[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)
    protocol: None = None
    """There is no connection, and so nothing that limits it."""
    writer: Unsent = field(default_factory=Unsent)

    @property
    def path_qs(self) -> str:
        return self.path + "".join(f"&{name}={value}" for name, value in self.query.items())

    @property
    def content_length(self) -> int:
        return len(self.raw)

    @property
    def content(self) -> Request:
        return self

    def is_eof(self) -> bool:
        """Anything may happen between the head of a request and its body."""
        return False

    async def iter_any(self) -> AsyncIterator[bytes]:
        yield self.raw

    def get(self, key: Any, default: Any = None) -> Any:
        return default


class _Sessions:
    """Who is signed in; their names are their tokens."""

    async def principal(self, token: str) -> Principal | None:
        return PEOPLE.get(token)


class _Metrics:
    """The store of measurements: what was acknowledged stays, across all gateways."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, int, str, int], MetricRow] = {}

    async def add(self, rows: Sequence[MetricRow], size_bytes: int = 0) -> None:
        for row in rows:
            self.rows.setdefault((row.trial_id, row.run_id, row.kind, row.steps), row)

    async def note(self, trial_id: int, **noted: Any) -> None:
        pass


class Gateway(api.Gateway):
    """One incarnation. What it knows it reads from the log, from the beginning."""

    def __init__(self, context: Context, measured: _Metrics) -> None:
        secret = SecretStr(context.secret.decode())
        self.context = context
        self.settings = ApiSettings(database_url="none", secret=secret, persistence_s=3.0)
        self.read: Any = Reading(context, USERS)
        self.sessions: Any = _Sessions()
        read: Any = self.read
        self.ports = Ports(read, self.read.ports())
        self.places = Places(read, self.ports, self.read.places())
        self.uploads = Uploads()
        self.signals = Signals()
        self.freshness = Freshness(read, clock.elapsed_s)
        grace_s = self.settings.task_token_grace_s
        queries = self.ports.of(TOKENS)
        self.task_tokens = TaskTokens(context.secret, read, queries, context.now, grace_s, self.signals, self.freshness)
        self.measured: Any = measured
        self.trials = {}
        self.metrics_token = ""

    async def run(self) -> None:
        facts = await self.context.bus.facts(self.signals.deliver)
        try:
            await self.read.catch_up()
            self.context.on_ready("gateway")
            await Follower(self.read, self.context.log, self.context.bus).run()
        finally:
            await facts.close()


class Doorway:
    """Where people and tasks find a gateway of the day; one who calls while there is none calls again."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._serving: dict[str, tuple[Process, Gateway]] = {}
        self.measured = _Metrics()

    async def serve(self, context: Context) -> None:
        process, gateway = alive(), Gateway(context, self.measured)
        self._serving[process.name] = process, gateway
        await gateway.run()

    async def call(
        self,
        operation: str,
        token: str,
        body: Mapping[str, Any] | bytes = b"",
        *,
        key: str = "",
        query: Mapping[str, str] | None = None,
        **path: Any,
    ) -> dict[str, Any]:
        """The answer, however often that takes asking: with the same key it is the same request.

        Raises what a client makes of an answer that is not 200.
        """
        route = OPERATIONS[operation]
        names = {name: str(value) for name, value in path.items()}
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        headers = {"Authorization": f"Bearer {token}", **({"Idempotency-Key": key} if key else {})}
        while True:
            request = Request(route.method, route.path.format(**names), names, raw, headers, dict(query or {}))
            try:
                return await self._once(route, request)
            except Unavailable:
                await asyncio.sleep(TRY_AGAIN_S)  # the outcome is unknown: asking again is safe

    async def wish(self, command: Command, who: str, key: str) -> Reply:
        """As a person who tries again, with the same request, until there is an answer."""
        answer = await self.call("SimulatedWish", who, codec.to_bytes(command), key=key, command=type(command).__name__)
        return Reply(answer["position"], answer["data"])

    async def _once(self, route: Route, request: Request) -> dict[str, Any]:
        await asyncio.sleep(self._rng.uniform(0.0005, 0.003))
        serving = [(process, gateway) for process, gateway in self._serving.values() if not process.dead]
        if not serving:
            raise Unavailable("connection refused")
        process, gateway = self._rng.choice(serving)
        answer = await _unless_it_dies(process, gateway, route, request)
        if answer.status == 200:
            return answer.body
        raise _meaning(answer)


async def _unless_it_dies(process: Process, gateway: Gateway, route: Route, request: Any) -> Answer:
    """Raises Unavailable when the connection breaks because there is nobody at its other end any more. One who hangs
    up ends the handling of his request."""
    work = process.begin(answering.answer(gateway, route, request))
    try:
        await asyncio.wait({work})
    finally:
        work.cancel()
    if work.cancelled():
        raise Unavailable("connection reset")
    response: Any = work.result()
    return Answer(response.status, orjson.loads(response.body))


def _meaning(answer: Answer) -> errors.ResoluteError:
    said = answer.body.get("error", answer.body)
    message = str(said.get("error", said) if isinstance(said, dict) else said)
    assert answer.status != 500, f"the gateway met a bug: {message}"
    kinds = {503: Unavailable, 404: errors.NotFound, 400: errors.InvalidConfig}
    return kinds.get(answer.status, errors.Refused)(message)


@contextmanager
def in_memory() -> Iterator[None]:
    """The gateway's code finds its clock in the simulation."""
    its_time = SimpleNamespace(monotonic=clock.elapsed_s)
    with mock.patch.object(task_tokens, "time", its_time), mock.patch.object(trial_lookup, "time", its_time):
        yield
