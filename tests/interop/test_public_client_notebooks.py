"""The public client's notebooks: JupyterLab itself, whose kernel runs code through the proxy of the gateway."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.interop.conftest import PublicClient

KERNEL_S = 60.0


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
    notebook = id_in(started)
    assert notebook in public.det("notebook", "list")
    assert "idle_timeout: null" in public.det("notebook", "config", notebook)
    assert "42" in asyncio.run(ran_in_kernel(public.master, notebook, "print(6*7)"))


async def ran_in_kernel(master: str, notebook: str, code: str) -> str:
    """What a new kernel prints of the code, by the protocol of Jupyter (its messages over one WebSocket)."""
    async with aiohttp.ClientSession() as http:
        signing_in = {"username": "determined", "password": "", "isHashed": False}
        async with http.post(f"{master}/api/v1/auth/login", json=signing_in) as answer:
            http.headers["Authorization"] = f"Bearer {(await answer.json())['token']}"
        async with http.get(f"{master}/api/v1/notebooks/{notebook}") as answer:
            address = (await answer.json())["notebook"]["serviceAddress"]
        base, token = f"{master}/proxy/{notebook}", urlsplit(address).query.removeprefix("token=")
        async with http.get(f"{base}/api/kernels?token=wrong") as refused:
            assert refused.status == 403, "Jupyter asks for its token besides"
        async with http.get(f"{base}/lab?token={token}") as page:
            assert page.status == 200, await page.text()
            assert "JupyterLab" in await page.text()
        async with http.post(f"{base}/api/kernels?token={token}") as made:
            assert made.status == 201, await made.text()
            kernel = (await made.json())["id"]
        address = f"{base}/api/kernels/{kernel}/channels?token={token}"
        async with asyncio.timeout(KERNEL_S), http.ws_connect(address) as channels:
            header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "username": "", "session": "s"}
            content = {"code": code, "silent": False}
            asked = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
            await channels.send_json(asked)
            printed = ""
            async for message in channels:
                said = json.loads(message.data)
                if said["msg_type"] == "stream":
                    printed += said["content"]["text"]
                if said["msg_type"] == "execute_reply":
                    assert said["content"]["status"] == "ok", said
                if said["msg_type"] == "status" and said["content"]["execution_state"] == "idle" and printed:
                    return printed
    raise AssertionError("the kernel's socket was closed")
