"""The bus over connections to NATS that are reset at any moment, also in the middle of the handshake.

Under uvloop, which the services use: there a write to a connection that was reset raises RuntimeError, and a client of
nats-py that meets it while it reconnects stays disconnected for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct

import pytest
import uvloop

from resolute.bus.nats import NatsBus
from resolute.proto.errors import Unavailable
from resolute.proto.message import Cause, Command, Reply
from resolute.proto.pool import EnableAgent
from tests.servers import Nats

ENABLE, CAUSE = EnableAgent("default", "agent-1"), Cause("test")
BUSES, ROUNDS, RESETS_S, BACK_S = 6, 2, 1.0, 50
AGES_S = (0, 0.0005, 0.001, 0.002, 0.004, 0.01, 0.03)
"""At which age a connection is reset: a handshake takes about 3 ms."""


class Network:
    """Carries connections to NATS; while `resets`, it resets those that are open and each new one soon."""

    def __init__(self, nats: Nats, chance: random.Random) -> None:
        self._port = int(nats.url.rsplit(":", 1)[1])
        self._chance = chance
        self._open: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self.resets = False

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._port)
        ends = (writer, there_writer)
        self._open.add(ends)
        if self.resets:
            asyncio.get_running_loop().call_later(self._chance.choice(AGES_S), self._reset, ends)
        await asyncio.gather(_pipe(reader, there_writer), _pipe(there_reader, writer))
        self._open.discard(ends)

    def reset_some(self) -> None:
        for ends in list(self._open):
            if self._chance.random() < 0.5:
                self._reset(ends)

    def _reset(self, ends: tuple[asyncio.StreamWriter, asyncio.StreamWriter]) -> None:
        if ends not in self._open:
            return
        self._open.discard(ends)
        for writer in ends:
            with contextlib.suppress(OSError, ValueError):  # closed already
                end: socket.socket = writer.get_extra_info("socket")
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, RuntimeError):
        while data := await reader.read(65_536):
            writer.write(data)
    writer.close()


async def answered(bus: NatsBus) -> Reply:
    """The answer to a command, asked again for as long as a connection is not back yet."""
    while True:
        try:
            return await bus.request(ENABLE, CAUSE)
        except Unavailable:
            await asyncio.sleep(0.05)


async def story(nats: Nats, seed: int) -> None:
    async def handle(command: Command, cause: Cause) -> Reply:
        return Reply(position=5)

    chance = random.Random(seed)
    network = Network(nats, chance)
    server = await asyncio.start_server(network.carry, "127.0.0.1", 0)
    url = f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    buses = [await NatsBus.open(url) for _ in range(BUSES)]
    await buses[0].serve("scheduler", handle)
    for _ in range(ROUNDS):
        network.resets = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RESETS_S):
                while True:
                    network.reset_some()
                    await asyncio.sleep(chance.uniform(0.002, 0.05))
        network.resets = False
        async with asyncio.timeout(BACK_S):
            for bus in buses:
                assert await answered(bus) == Reply(position=5)
    for bus in buses:
        await bus.close()
    server.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_every_connection_comes_back_after_resets_in_the_middle_of_handshakes(nats_server: Nats, seed: int) -> None:
    uvloop.run(story(nats_server, seed))
