"""The commands of a service as a NATS micro service, one endpoint each, which gives discovery and statistics.

nats-py awaits an endpoint's handler before it takes the next request of that endpoint. The handlers of this module
start a task for each request and return, so that requests are handled concurrently. The times that nats-py measures are
therefore too short; the real ones are in the endpoint's `data`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.micro.request import Request
from nats.micro.service import EndpointStats, Service, ServiceConfig

from resolute.bus import subjects
from resolute.bus.link import Close
from resolute.proto.message import Command, verb

Start = Callable[[Msg], "asyncio.Task[None]"]


@dataclass(slots=True)
class Work:
    """The statistics of one endpoint."""

    in_flight: int = 0
    handled: int = 0
    busy_s: float = 0.0

    def begin(self, task: asyncio.Task[None]) -> None:
        began_at = perf_counter()
        self.in_flight += 1

        def end(_: asyncio.Task[None]) -> None:
            self.in_flight -= 1
            self.handled += 1
            self.busy_s += perf_counter() - began_at

        task.add_done_callback(end)


async def serve_on(client: Client, name: str, version: str, kinds: Sequence[type[Command]], start: Start) -> Close:
    """Open the service on `client`; what is returned closes it."""
    works = {verb(kind): Work() for kind in kinds}

    def data_of(stats: EndpointStats) -> dict[str, float]:
        return asdict(works[stats.name])

    service = Service(client, ServiceConfig(name=name, version=version, queue_group=name, stats_handler=data_of))
    await service.start()
    for kind in kinds:
        work = works[verb(kind)]

        async def handle(request: Request, work: Work = work) -> None:
            work.begin(start(request._msg))

        await service.add_endpoint(name=verb(kind), subject=subjects.command(kind), handler=handle)
    return service.stop
