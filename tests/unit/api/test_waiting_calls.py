"""Calls that wait: the gateway keeps nothing of the request for a handler that has let go of it."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from pydantic import SecretStr

from resolute.api.answering import application
from resolute.api.call import Call
from resolute.api.gateway import Gateway
from resolute.api.kernel.fields import JsonObject
from resolute.api.kernel.messages import Empty, InBody, Input, Request
from resolute.api.kernel.operations import operation
from resolute.api.kernel.ports import Ports
from resolute.api.kernel.whereabouts import PostgresPlaces
from resolute.api.places import Places
from resolute.api.request_body import AT_ONCE_BYTES
from resolute.api.routing import SIGNED_IN, Principal
from resolute.api.settings import ApiSettings
from resolute.api.uploads import Uploads

CALLS = 5


class Brought(Input):
    data: JsonObject


class Bring(Request):
    body: InBody[Brought]


class OfOneUser(Gateway):
    """A gateway without a log and a database, that takes every caller for the same user."""

    def __init__(self) -> None:
        self.settings = ApiSettings(database_url="none", secret=SecretStr("s"))
        read: Any = SimpleNamespace(shown=0)
        self.read, self.places = read, Places(read, Ports(read), PostgresPlaces(read, {}))
        self.uploads = Uploads()

    async def who(self, request: web.Request) -> Principal:
        return Principal(1, "ada")


class Handler:
    """Waits in every call until it is asked to go on."""

    def __init__(self, *, lets_go: bool) -> None:
        self.lets_go = lets_go
        self.bodies: list[weakref.ref[Brought]] = []
        self.all_wait, self.go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, call: Call, request: Bring) -> Empty:
        self.bodies.append(weakref.ref(request.body))
        if self.lets_go:
            call.forget_body()
        del request
        if len(self.bodies) == CALLS:
            self.all_wait.set()
        await self.go_on.wait()
        return Empty()


@asynccontextmanager
async def served(handle: Callable[[Call, Bring], Any]) -> AsyncIterator[TestClient[web.Request, web.Application]]:
    access = SIGNED_IN.oneself()
    route = operation("Bring", "POST", "/bring", handle, access, request=Bring, response=Empty, tag="Test")
    async with TestClient(TestServer(application(OfOneUser(), (route,)))) as client:
        yield client


@pytest.mark.parametrize("size_bytes", [100, 2 * AT_ONCE_BYTES])
@pytest.mark.parametrize("lets_go", [True, False])
async def test_of_a_request_that_was_let_go_nothing_is_kept_while_its_handler_waits(
    lets_go: bool, size_bytes: int
) -> None:
    handler = Handler(lets_go=lets_go)
    async with served(handler) as client:
        posts = [asyncio.create_task(_post(client, size_bytes)) for _ in range(CALLS)]
        await asyncio.wait_for(handler.all_wait.wait(), 60)
        gc.collect()
        assert [body() is None for body in handler.bodies] == [lets_go] * CALLS
        handler.go_on.set()
        assert await asyncio.gather(*posts) == [200] * CALLS


async def _post(client: TestClient[web.Request, web.Application], size_bytes: int) -> int:
    async with client.post("/bring", json={"data": {"x": "x" * size_bytes}}) as response:
        return response.status
