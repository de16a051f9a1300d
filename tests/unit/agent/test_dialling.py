"""The agent connects a task with a gateway, and copies bytes until one of them closes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from resolute import codec
from resolute.agent.dialling import Dialler, Door
from resolute.agent.ledger import Entry
from resolute.agent.ports import asked_for, check_own
from resolute.agent.settings import AgentSettings
from resolute.bus import MemoryBus, subjects
from resolute.proto.errors import NotFound, Refused
from resolute.proto.proxy import DialFailed, DialTask, Greeting
from resolute.proto.tasks import ProxiedPort
from tests.ports import free_port

TICKET = "f" * 64
PATIENCE_S = 30.0


@dataclass
class Gateway:
    """What a gateway sees of connections."""

    port: int = 0
    greeted: asyncio.Queue[tuple[Greeting, asyncio.StreamReader, asyncio.StreamWriter]] = field(
        default_factory=asyncio.Queue
    )

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        await self.greeted.put((codec.from_bytes(Greeting, line), reader, writer))

    async def next(self) -> tuple[Greeting, asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.wait_for(self.greeted.get(), PATIENCE_S)


@dataclass
class OneDoor:
    port: ProxiedPort

    async def door(self, resources_id: str, number: int | None) -> Door:
        if resources_id != "r1":
            raise NotFound("agent a1 does not run the task (any more)")
        return Door("127.0.0.1", asked_for((self.port,), number))


@asynccontextmanager
async def gateway() -> AsyncIterator[Gateway]:
    made = Gateway()
    async with await asyncio.start_server(made.accept, "127.0.0.1", 0) as server:
        made.port = server.sockets[0].getsockname()[1]
        yield made


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.write(b" and the end")
    writer.close()


def dialler(tmp_path: Path, port: int, bus: MemoryBus | None = None) -> Dialler:
    settings = AgentSettings(id="a1", work_dir=tmp_path)
    return Dialler(bus or MemoryBus(), settings, OneDoor(ProxiedPort(port, tcp=True, default=True)))


def wish(listener_port: int, resources_id: str = "r1", port: int | None = None) -> DialTask:
    return DialTask(resources_id, port, "127.0.0.1", listener_port, secure=False, ticket=TICKET)


async def test_bytes_pass_in_both_directions_to_the_end_of_each(tmp_path: Path) -> None:
    async with gateway() as end, await asyncio.start_server(echo, "127.0.0.1", 0) as task:
        await dialler(tmp_path, task.sockets[0].getsockname()[1]).dial(wish(end.port))
        greeting, reader, writer = await end.next()
        assert greeting == Greeting(TICKET, tcp=True)
        sent = bytes(range(256)) * 20_000

        async def send() -> None:
            writer.write(sent)
            await writer.drain()
            writer.write_eof()

        _, received = await asyncio.wait_for(asyncio.gather(send(), reader.read()), PATIENCE_S)
        assert received == sent + b" and the end", "the task goes on to send when the client has said its last"


async def test_what_stands_in_the_way_at_the_task_is_told_to_the_gateway(tmp_path: Path) -> None:
    unused = free_port()
    async with gateway() as end:
        for asked, said in (
            (wish(end.port), f"nothing answers at port {unused} of the task: "),
            (wish(end.port, "r2"), "agent a1 does not run the task"),
            (wish(end.port, port=22), "port 22 is not among environment.proxy_ports of the task: the task's ports are"),
        ):
            await dialler(tmp_path, unused).dial(asked)
            greeting, reader, _ = await end.next()
            assert said in greeting.problem
            assert await reader.read() == b"", "the connection is closed"


async def test_a_gateway_that_cannot_be_reached_is_told_over_the_bus(tmp_path: Path) -> None:
    bus, failed = MemoryBus(), asyncio.Queue[DialFailed]()
    await bus.listen(subjects.agent("*", "dial_failed"), DialFailed, failed.put)
    async with await asyncio.start_server(echo, "127.0.0.1", 0) as task:
        await dialler(tmp_path, task.sockets[0].getsockname()[1], bus).dial(wish(free_port()))
        said = await asyncio.wait_for(failed.get(), PATIENCE_S)
    assert (said.agent_id, TICKET in said.ticket_digest) == ("a1", False)
    assert said.why


async def test_a_task_that_ends_ends_the_connection(tmp_path: Path) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with gateway() as end, await asyncio.start_server(hang_up, "127.0.0.1", 0) as task:
        await dialler(tmp_path, task.sockets[0].getsockname()[1]).dial(wish(end.port))
        _, reader, _ = await end.next()
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""


def test_only_declared_ports_are_reached() -> None:
    declared = (ProxiedPort(8888, default=True), ProxiedPort(5432, tcp=True))
    assert asked_for(declared, None) == declared[0]
    assert asked_for(declared, 5432) == declared[1]
    with pytest.raises(NotFound, match=r"port 22 is not among .*: the task's ports are 8888, 5432"):
        asked_for(declared, 22)
    with pytest.raises(NotFound, match="no default port; the task's ports are 5432"):
        asked_for(declared[1:], None)
    with pytest.raises(NotFound, match="declared no port"):
        asked_for((), None)


def test_a_port_belongs_to_the_task_that_declared_it_first() -> None:
    earlier = Entry("r0", "a.1", "task-0", 1, 0, (), ports=(ProxiedPort(8888),))
    check_own(ProxiedPort(8889), [earlier])
    with pytest.raises(Refused, match="task task-0 on the same host declared that port first"):
        check_own(ProxiedPort(8888), [earlier])
