"""The public client's notebooks: JupyterLab itself, whose kernel runs code through the proxy of the gateway."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.conftest import PublicClient
from tests.interop.kernels import notebook


@pytest.fixture
def started(public: PublicClient, jupyter_environment: Path) -> Iterator[str]:
    """What the client prints of a notebook that it started, and waited for."""
    path = f"PATH={jupyter_environment / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    chosen = ("resources.slots=0", f"environment.environment_variables=[{json.dumps(path)}]")
    printed = public.det("notebook", "start", "--no-browser", *(word for one in chosen for word in ("--config", one)))
    yield printed
    public.det("notebook", "kill", id_in(printed))


def id_in(printed: str) -> str:
    found = re.search(r"Launched .* \(id: (.*), name: (.*)\)", printed)
    assert found, printed
    return found[1]


def test_a_kernel_runs_code_through_the_proxy(public: PublicClient, started: str) -> None:
    notebook_id = id_in(started)
    assert notebook_id in public.det("notebook", "list")
    assert "idle_timeout: null" in public.det("notebook", "config", notebook_id)
    assert "42" in asyncio.run(ran_in_kernel(public.master, notebook_id, "print(6*7)"))


async def ran_in_kernel(master: str, notebook_id: str, code: str) -> str:
    async with notebook(master, notebook_id) as opened:
        async with opened.http.get(f"{opened.base}/api/kernels?token=wrong") as refused:
            assert refused.status == 403, "Jupyter asks for its token besides"
        async with opened.http.get(f"{opened.base}/lab?token={opened.token}") as page:
            assert page.status == 200, await page.text()
            assert "JupyterLab" in await page.text()
        return await opened.run(await opened.kernel(), code)
