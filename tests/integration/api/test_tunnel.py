"""`python -m determined.cli.tunnel` and `det e create -f -p`: TCP ports of tasks on this machine."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from determined.cli import tunnel
from determined.common.client.problems import ClientError
from determined.common.client.websocket import NotOpened
from tests.integration.api.running import PATIENCE_S
from tests.integration.api.served import Served, served
from tests.ports import free_port


@pytest.fixture
async def scene(postgres_dsn: str, tmp_path: Path) -> AsyncIterator[Served]:
    async with served(postgres_dsn, tmp_path) as scene:
        yield scene


@asynccontextmanager
async def shouting(scene: Served) -> AsyncIterator[str]:
    """A task with a TCP port whose program answers in capital letters, and says goodbye. Yields the service."""
    port = free_port()

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data.upper())
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(shout, "127.0.0.1", port):
        yield f"{await scene.start({'proxy_port': port, 'proxy_tcp': True})}:{port}"


@pytest.mark.timeout(120)
async def test_standard_input_and_output_are_the_port_as_ssh_wants_it(
    scene: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with shouting(scene) as service:
        words = (sys.executable, "-m", "determined.cli.tunnel", scene.user.base, service, "--auth", "-u", "determined")
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=pipe)
        assert process.stdin is not None
        assert process.stdout is not None
        sent = b"any bytes \xff" * 100_000
        reading = asyncio.create_task(process.stdout.readexactly(len(sent)))
        process.stdin.write(sent)
        await process.stdin.drain()
        assert await asyncio.wait_for(reading, PATIENCE_S) == sent.upper()
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0


@pytest.mark.timeout(120)
async def test_a_port_here_is_the_port_of_the_task_on_loopback_only(scene: Served) -> None:
    async with shouting(scene) as service:
        listening = tunnel.listener(0)
        host, port = listening.getsockname()
        assert host == "127.0.0.1"
        way = tunnel.Tunnel(scene.user.base, service, scene.user.token or "")
        threading.Thread(target=tunnel.serve, args=(way, listening), daemon=True).start()
        for _ in range(2):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"hello")
            assert await asyncio.wait_for(reader.readexactly(5), PATIENCE_S) == b"HELLO"
            writer.close()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


@pytest.mark.timeout(120)
async def test_what_stands_in_the_way_is_said(scene: Served) -> None:
    async with shouting(scene) as service:
        for asked, token, status, words in (
            ("no-such-task", scene.user.token, 404, "service not found: no-such-task"),
            (f"{service.partition(':')[0]}:22", scene.user.token, 502, "port 22 is not among"),
            (service, "forged", 401, "no valid credentials"),
            (service, "", 401, "no valid credentials"),
        ):
            with pytest.raises(NotOpened, match=words) as found:
                await asyncio.to_thread(tunnel.Tunnel(scene.user.base, asked, token or "").open)
            assert found.value.status == status


def test_a_master_that_is_away_and_a_port_that_is_taken() -> None:
    with pytest.raises(ClientError, match="no answer from the master"):
        tunnel.Tunnel(f"http://127.0.0.1:{free_port()}", "x", "").open()
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ClientError, match="choose another port"):
        tunnel.listener(taken.getsockname()[1])
