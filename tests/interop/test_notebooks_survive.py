"""A kernel computes on, whichever process of the cluster is killed meanwhile; its page connects again and goes on."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.integration.cluster.local import LocalCluster, local_cluster, until
from tests.interop.kernels import notebook

VICTIMS = ("tasks", "api", "agent-1", "nats")
AGAIN_S = 120.0
"""How long the way in may take to stand again."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with local_cluster(tmp_path_factory.mktemp("notebooks"), separate=True, slots=1, agents=1) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def started(cluster: LocalCluster, jupyter_environment: Path) -> str:
    """The ID of a notebook that is ready."""
    path = json.dumps([f"PATH={jupyter_environment / 'bin'}:/usr/local/bin:/usr/bin:/bin"])
    said = cluster.det("notebook", "start", "--no-browser", "--config", f"environment.environment_variables={path}")
    return said.partition("(id: ")[2].partition(",")[0]


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that a task may write to, whoever it runs as."""
    with tempfile.TemporaryDirectory(prefix="resolute-notebooks-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_kernel_computes_on_and_keeps_what_it_has(
    cluster: LocalCluster, started: str, shared: Path, victim: str
) -> None:
    kernel = asyncio.run(begin(cluster.url, started, shared))
    until("the kernel computes", (shared / "began").exists)
    cluster.kill(victim)
    (shared / "go on").touch()
    assert asyncio.run(asked_again(cluster.url, started, kernel)) == "the answer is 42\n"


async def begin(master: str, notebook_id: str, shared: Path) -> str:
    """A kernel that computes until it may go on."""
    code = (
        "import pathlib, time\n"
        f"shared = pathlib.Path({str(shared)!r})\n"
        "(shared / 'began').touch()\n"
        "while not (shared / 'go on').exists():\n"
        "    time.sleep(0.05)\n"
        "answer = 6 * 7\n"
    )
    async with notebook(master, notebook_id) as opened:
        kernel = await opened.kernel()
        await opened.run(kernel, code, waits=False)
        return kernel


async def asked_again(master: str, notebook_id: str, kernel: str) -> str:
    """What the kernel prints of what it has computed, as soon as it can be reached again."""
    async with asyncio.timeout(AGAIN_S):
        while True:
            try:
                async with notebook(master, notebook_id) as opened:
                    return await opened.run(kernel, "print('the answer is', answer)")
            except (aiohttp.ClientError, KeyError):  # the gateway is away, or has no way to the task yet
                await asyncio.sleep(0.5)
