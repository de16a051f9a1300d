"""A notebook of a cluster as Jupyter's own pages use it: its REST API, and the protocol of its kernels."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp

KERNEL_S = 60.0


@dataclass
class Notebook:
    """Reached through the gateway at `master`."""

    http: aiohttp.ClientSession
    base: str
    token: str

    async def kernel(self) -> str:
        """A new kernel's ID."""
        async with self.http.post(f"{self.base}/api/kernels?token={self.token}") as made:
            assert made.status == 201, await made.text()
            return str((await made.json())["id"])

    async def run(self, kernel: str, code: str, *, waits: bool = True) -> str:
        """What the kernel prints of the code, over a WebSocket of its own. Without `waits`: nothing, once the kernel
        is busy with it."""
        address = f"{self.base}/api/kernels/{kernel}/channels?token={self.token}"
        async with asyncio.timeout(KERNEL_S), self.http.ws_connect(address) as channels:
            header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "username": "", "session": "s"}
            content = {"code": code, "silent": False}
            asked = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
            await channels.send_json(asked)
            printed = ""
            async for message in channels:
                said = json.loads(message.data)
                if said["parent_header"].get("msg_id") != header["msg_id"]:
                    continue  # of another execution
                match said["msg_type"], said["content"]:
                    case "stream", {"text": text}:
                        printed += text
                    case "execute_reply", {"status": status}:
                        assert status == "ok", said
                    case "status", {"execution_state": "busy"} if not waits:
                        return ""
                    case "status", {"execution_state": "idle"}:
                        return printed
        raise AssertionError("the kernel's socket was closed")


@asynccontextmanager
async def notebook(master: str, notebook_id: str) -> AsyncIterator[Notebook]:
    """A notebook of user determined."""
    async with aiohttp.ClientSession() as http:
        signing_in = {"username": "determined", "password": "", "isHashed": False}
        async with http.post(f"{master}/api/v1/auth/login", json=signing_in) as answer:
            http.headers["Authorization"] = f"Bearer {(await answer.json())['token']}"
        async with http.get(f"{master}/api/v1/notebooks/{notebook_id}") as answer:
            address = (await answer.json())["notebook"]["serviceAddress"]
        token = urlsplit(address).query.removeprefix("token=")
        yield Notebook(http, f"{master}/proxy/{notebook_id}", token)
