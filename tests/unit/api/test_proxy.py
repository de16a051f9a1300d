"""The parts of the way in that need no task: the listener for agents, frames of WebSockets, services in paths."""

from __future__ import annotations

import asyncio
import hashlib
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from resolute import codec
from resolute.api.proxy.dials import Dials, Door, Unreachable
from resolute.api.proxy.limits import ProxySettings
from resolute.api.proxy.targets import service_of
from resolute.api.proxy.usage import ClientFrames
from resolute.bus import MemoryBus, subjects
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.proxy import GREETING_BYTES_MAX, DialFailed, DialTask, Greeting, Hop

DOOR = Door("a1", "r1", None)
PATIENCE_S = 30.0


@asynccontextmanager
async def listening(bus: MemoryBus, dial_s: float = 10) -> AsyncIterator[Dials]:
    dials = Dials(bus, ProxySettings(dial_s=dial_s), None)
    async with dials.listening():
        yield dials


async def asked(bus: MemoryBus) -> asyncio.Queue[DialTask]:
    queue: asyncio.Queue[DialTask] = asyncio.Queue()
    await bus.listen(subjects.agent("a1", "dial"), DialTask, queue.put)
    return queue


async def dialled(wish: DialTask, line: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(wish.host, wish.listener_port)
    writer.write(line)
    return reader, writer


async def test_a_connection_is_known_by_its_ticket_which_is_good_for_one() -> None:
    bus = MemoryBus()
    wishes = await asked(bus)
    async with listening(bus) as dials:
        connecting = asyncio.create_task(dials.connect(DOOR))
        wish = await asyncio.wait_for(wishes.get(), PATIENCE_S)
        greeting = codec.to_bytes(Greeting(wish.ticket, tcp=True)) + b"\nSSH-2.0"
        forged, _ = await dialled(wish, codec.to_bytes(Greeting("0" * 64)) + b"\n")
        assert await asyncio.wait_for(forged.read(), PATIENCE_S) == b""
        _, first = await dialled(wish, greeting)
        link = await asyncio.wait_for(connecting, PATIENCE_S)
        assert (link.tcp, link.first) == (True, b"SSH-2.0")
        again, _ = await dialled(wish, greeting)
        assert await asyncio.wait_for(again.read(), PATIENCE_S) == b""
        first.close()
        link.transport.abort()


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\n", b"{}\n", b"\n", b"\xff\n", b"x" * (GREETING_BYTES_MAX + 2)])
async def test_what_is_no_greeting_is_cut_off(line: bytes) -> None:
    bus = MemoryBus()
    wishes = await asked(bus)
    async with listening(bus) as dials:
        connecting = asyncio.create_task(dials.connect(DOOR))
        reader, _ = await dialled(await wishes.get(), line)
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        assert not connecting.done()
        connecting.cancel()


async def test_who_says_nothing_is_cut_off_and_waited_for_no_longer() -> None:
    bus = MemoryBus()
    wishes = await asked(bus)
    async with listening(bus, dial_s=0.2) as dials:
        connecting = asyncio.create_task(dials.connect(DOOR))
        reader, _ = await dialled(await wishes.get(), b"")
        with pytest.raises(Unreachable, match=r"agent a1 did not connect the task within 0\.2 s") as found:
            await connecting
        assert found.value.hop is Hop.AGENT
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""


async def test_only_the_agent_that_was_asked_can_say_that_it_failed() -> None:
    bus = MemoryBus()
    wishes = await asked(bus)
    async with listening(bus) as dials:
        connecting = asyncio.create_task(dials.connect(DOOR))
        digest = hashlib.sha256((await wishes.get()).ticket.encode()).hexdigest()
        await bus.publish(subjects.agent("a2", "dial_failed"), DialFailed("a2", digest, "not its affair"))
        await bus.publish(subjects.agent("a1", "dial_failed"), DialFailed("a1", digest, "no route to host"))
        with pytest.raises(Unreachable, match="no route to host") as found:
            await asyncio.wait_for(connecting, PATIENCE_S)
        assert found.value.hop is Hop.GATEWAY


def test_a_listener_that_others_could_overhear_is_refused() -> None:
    with pytest.raises(InvalidConfig, match=r"api\.proxy\.host is 0\.0\.0\.0.*api\.tls_cert"):
        Dials(MemoryBus(), ProxySettings(host="0.0.0.0"), None)


@pytest.mark.parametrize(
    "name", ["", ":", ":1", "a:", "a:0", "a:65536", "a:-1", "a:1:2", "../a", "a/b", "-a", "a" * 101]
)
def test_what_can_be_no_service(name: str) -> None:
    with pytest.raises(NotFound, match="service not found"):
        service_of(name)


def test_services() -> None:
    assert (service_of("7.f00d").task_id, service_of("7.f00d").port) == ("7.f00d", None)
    assert (service_of("0f8f-1:8888").task_id, service_of("0f8f-1:8888").port) == ("0f8f-1", 8888)


# ---------------------------------------------------------------- frames of WebSockets


def frame(opcode: int, size: int) -> bytes:
    head = bytes([0x80 | opcode])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 65_536:
        head += bytes([0x80 | 126]) + struct.pack(">H", size)
    else:
        head += bytes([0x80 | 127]) + struct.pack(">Q", size)
    return head + b"mask" + bytes(size)


PONG, TEXT, BINARY = 0xA, 1, 2


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 100_000])
def test_frames_with_data_are_told_from_those_that_browsers_send_by_themselves(size: int) -> None:
    assert ClientFrames().has_data(frame(TEXT, size))
    assert ClientFrames().has_data(frame(PONG, 4) + frame(BINARY, size))
    frames = ClientFrames()
    whole = frame(BINARY, size) + frame(PONG, 100) + frame(TEXT, 3)
    step = max(1, len(whole) // 50)
    found = [frames.has_data(whole[start : start + step]) for start in range(0, len(whole), step)]
    assert sum(found) == 2, "each frame is found where it begins"
    assert not ClientFrames().has_data(frame(PONG, 100) * 10)
