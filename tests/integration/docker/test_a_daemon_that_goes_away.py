"""Tasks, and who waits for them, while the Docker daemon dies and comes back."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from resolute.agent import container_spec
from resolute.agent.container_spec import Container, ContainerLaunch
from resolute.agent.docker_engine import Engine
from resolute.agent.docker_runtime import DockerRuntime
from resolute.agent.runtime import Exit, Launch
from tests import needs
from tests.integration.docker.daemon import OwnDaemon
from tests.integration.docker.hosts import IMAGE

pytestmark = [
    needs.docker,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        os.getuid() != 0 or not shutil.which("dockerd"), reason="a second daemon needs root and dockerd"
    ),
]

OWNER = container_spec.owner("a1", "of-its-own")
LINES = 60
WAITS = "the Docker daemon does not answer, and is waited for"


@pytest.fixture(scope="module")
def loaded() -> Iterator[OwnDaemon]:
    daemon = OwnDaemon()
    try:
        daemon.start(live_restore=True)
        daemon.load()
        yield daemon
    finally:
        daemon.close()


@pytest.fixture
def daemon(loaded: OwnDaemon, monkeypatch: pytest.MonkeyPatch) -> OwnDaemon:
    """Running, and keeping containers when it goes away."""
    monkeypatch.setenv("DOCKER_HOST", loaded.url)
    return loaded


def counting(pause_s: float = 0.1) -> Launch:
    resources_id = str(uuid.uuid4())
    code = (
        f"import time\nfor n in range({LINES}):\n    print(n, flush=True)\n    time.sleep({pause_s})\n# {resources_id}"
    )
    labels = {**OWNER, f"{container_spec.LABEL}resources": resources_id}
    container = Container(IMAGE, labels, network="none")
    return ContainerLaunch(resources_id, ("python3", "-c", code), {}, container=container)


def children_of(launch: Launch) -> list[psutil.Process]:
    """What runs of the task in its container, the shim apart."""
    found = []
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
        except psutil.Error:
            continue
        if command[:2] == ["python3", "-c"] and launch.resources_id in command[-1]:
            found.append(process)
    return found


async def said(runtime: DockerRuntime, launch: Launch) -> list[str]:
    return [line.text for line in (await runtime.logs(launch.resources_id, 0, 1000)).lines]


async def until_it_counts(runtime: DockerRuntime, launch: Launch, number: int) -> None:
    async with asyncio.timeout(60):
        while str(number) not in await said(runtime, launch):  # noqa: ASYNC110  (it is about another process)
            await asyncio.sleep(0.05)


async def ended(runtime: DockerRuntime, launch: Launch) -> Exit:
    async with asyncio.timeout(90):
        return await runtime.exit(launch.resources_id)


@asynccontextmanager
async def away(daemon: OwnDaemon, number: int, *, live_restore: bool = True) -> AsyncIterator[None]:
    await asyncio.to_thread(daemon.kill, number)
    try:
        yield
    finally:
        await asyncio.to_thread(lambda: daemon.start(live_restore=live_restore))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_with_live_restore_a_task_never_notices(daemon: OwnDaemon, tmp_path: Path, number: int) -> None:
    runtime, launch = DockerRuntime(tmp_path, Engine(), OWNER), counting()
    await runtime.start(launch)
    await until_it_counts(runtime, launch, 5)
    async with away(daemon, number):
        pass
    assert await ended(runtime, launch) == Exit(0)
    assert await said(runtime, launch) == [str(n) for n in range(LINES)]
    await runtime.forget(launch.resources_id)


async def test_an_agent_that_starts_meanwhile_finds_it_too(daemon: OwnDaemon, tmp_path: Path) -> None:
    first, launch = DockerRuntime(tmp_path, Engine(), OWNER), counting()
    await first.start(launch)
    await until_it_counts(first, launch, 5)
    async with away(daemon, signal.SIGKILL):
        later = DockerRuntime(tmp_path, Engine(), OWNER)
        attaching = asyncio.create_task(later.attach(launch.resources_id))
        await asyncio.sleep(0)
        assert not attaching.done()
    assert await attaching
    assert await ended(later, launch) == Exit(0)
    assert await said(later, launch) == [str(n) for n in range(LINES)]
    await later.forget(launch.resources_id)


async def test_who_is_to_end_while_the_daemon_is_away_ends_when_it_is_back(daemon: OwnDaemon, tmp_path: Path) -> None:
    runtime, launch = DockerRuntime(tmp_path, Engine(), OWNER, grace_s=1), counting(1.0)
    await runtime.start(launch)
    await until_it_counts(runtime, launch, 1)
    async with away(daemon, signal.SIGKILL):
        await runtime.signal(launch.resources_id, signal.SIGTERM)
    assert await ended(runtime, launch) == Exit(143)
    await runtime.forget(launch.resources_id)


async def test_a_task_that_is_to_start_while_the_daemon_is_away_waits_and_says_so(
    daemon: OwnDaemon, tmp_path: Path
) -> None:
    runtime, launch = DockerRuntime(tmp_path, Engine(), OWNER), counting(0.0)
    async with away(daemon, signal.SIGKILL):
        starting = asyncio.create_task(runtime.start(launch))
        async with asyncio.timeout(30):
            while not any(WAITS in text for text in await said(runtime, launch)):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    await starting
    assert await ended(runtime, launch) == Exit(0)
    await runtime.forget(launch.resources_id)


async def test_without_live_restore_it_ends_with_the_daemon_and_that_is_said(daemon: OwnDaemon, tmp_path: Path) -> None:
    async with away(daemon, signal.SIGTERM, live_restore=False):
        pass
    runtime, launch = DockerRuntime(tmp_path, Engine(), OWNER, grace_s=1), counting(1.0)
    try:
        await runtime.start(launch)
        await until_it_counts(runtime, launch, 1)
    finally:
        async with away(daemon, signal.SIGTERM):
            pass
    found = await ended(runtime, launch)
    assert found.code is None
    assert "stopped from outside: by a person, or with the Docker daemon or the host" in found.reason
    await runtime.forget(launch.resources_id)


async def test_a_task_that_ends_while_the_daemon_is_away_is_heard_to_the_end(daemon: OwnDaemon, tmp_path: Path) -> None:
    runtime, launch = DockerRuntime(tmp_path, Engine(), OWNER), counting(0.02)
    await runtime.start(launch)
    async with away(daemon, signal.SIGKILL):
        async with asyncio.timeout(60):
            while children_of(launch):  # noqa: ASYNC110  (it is about other processes)
                await asyncio.sleep(0.05)
    assert await ended(runtime, launch) == Exit(0)
    assert await said(runtime, launch) == [str(n) for n in range(LINES)]
    await runtime.forget(launch.resources_id)
