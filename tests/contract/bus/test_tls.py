"""A bus that goes over other people's wires: nothing of it can be read there, and nobody there passes for NATS."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolute.bus import link
from resolute.bus.nats import NatsBus
from resolute.deploy import certificates
from resolute.proto.errors import InvalidConfig, Unavailable
from resolute.proto.experiment import PauseExperiment
from resolute.proto.message import Cause, Command, Reply
from tests.servers import Nats

CAUSE = Cause("a-request")


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    """An authority, and a certificate of 127.0.0.1 by it."""
    certificates.ensure_authority(tmp_path, "tested")
    certificates.ensure_certificate(tmp_path, "nats", ["127.0.0.1"])
    return tmp_path


@pytest.fixture
def server(signed: Path) -> Iterator[Nats]:
    made = Nats(f'tls {{ cert_file: "{signed}/nats.crt", key_file: "{signed}/nats.key", handshake_first: true }}')
    yield made
    made.close()


async def served(bus: NatsBus) -> Reply:
    async def handle(command: Command, cause: Cause) -> Reply:
        return Reply(7)

    await bus.serve("searcher", handle)
    return await bus.request(PauseExperiment(1), CAUSE)


async def until_answered(bus: NatsBus) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                assert await bus.request(PauseExperiment(1), CAUSE) == Reply(7)
                return
            except Unavailable:
                await asyncio.sleep(0.01)


async def test_the_bus_is_there_and_is_there_again_when_nats_was_killed(signed: Path, server: Nats) -> None:
    bus = await NatsBus.open(server.url, authority=signed / certificates.AUTHORITY)
    assert await served(bus) == Reply(7)
    server.kill(wipe=True)
    server.start()
    await until_answered(bus)
    await bus.close()


@pytest.fixture
def closes_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection on which the two sides never agreed is not waited for when it is closed."""
    monkeypatch.setattr(link, "CLOSE_S", 0.2)


@pytest.mark.usefixtures("closes_soon")
async def test_a_server_signed_by_another_is_not_spoken_to(server: Nats, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    certificates.ensure_authority(other, "other")
    with pytest.raises(Unavailable, match="certificate verify failed"):
        await NatsBus.open(server.url, authority=other / certificates.AUTHORITY, timeout_s=4)


@pytest.mark.usefixtures("closes_soon")
async def test_a_server_that_says_it_has_no_tls_is_not_spoken_to(signed: Path, nats_url: str) -> None:
    with pytest.raises(Unavailable):
        await NatsBus.open(nats_url, authority=signed / certificates.AUTHORITY, timeout_s=1)


async def test_nobody_gets_in_without(server: Nats) -> None:
    with pytest.raises(Unavailable):
        await NatsBus.open(server.url, timeout_s=1)


@pytest.mark.parametrize("content", [None, "", "no certificate"])
async def test_an_authority_that_is_none_is_refused(tmp_path: Path, nats_url: str, content: str | None) -> None:
    file = tmp_path / "ca.crt"
    if content is not None:
        file.write_text(content)
    with pytest.raises(InvalidConfig, match=r"nats_ca_file: cannot use .*ca\.crt: "):
        await NatsBus.open(nats_url, authority=file, timeout_s=1)
