"""The OpenAPI documents of all operations, and the operations that answer them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, TypeAlias

from aiohttp import web

from resolute.api import openapi, openapi31, wire
from resolute.api.call import Call
from resolute.api.kernel.declared import classes_within, roots_of
from resolute.api.kernel.descriptions import classes_in, modules_of
from resolute.api.kernel.messages import Written
from resolute.api.kernel.operations import operation
from resolute.api.master.messages import Document, GetDocument
from resolute.api.routing import ANYONE, Route

Describe: TypeAlias = Callable[[Sequence[Route]], dict[str, Any]]
"""What makes the document of some routes."""


def _messages(routes: Sequence[Route]) -> list[type[Written]]:
    """The requests, the answers, and all that they hold."""
    roots = roots_of(routes)
    return [*roots, *(one for one in classes_within(roots).values() if issubclass(one, Written))]


class Documents:
    """The documents of these routes. Strangers may ask for them and making one takes 60 ms, so that each form is made
    once."""

    def __init__(self, routes: Callable[[], Sequence[Route]]) -> None:
        """`routes` is called when a document is made: the operations that answer the documents are among the routes."""
        self._routes = routes
        self._made: dict[tuple[Describe, bool], bytes] = {}
        self._making = Lock()
        self._has_read = False

    async def swagger(self, call: Call, request: GetDocument) -> web.Response:
        """This reference for machines, as OpenAPI 2.0."""
        return await self._answer(call, openapi.document)

    async def openapi_31(self, call: Call, request: GetDocument) -> web.Response:
        """This reference for machines, as OpenAPI 3.1, with what there is to say of every field."""
        return await self._answer(call, openapi31.document)

    async def _answer(self, call: Call, describe: Describe) -> web.Response:
        await self.read_sources()
        body = await asyncio.to_thread(self.made, describe, pretty="pretty" in call.request.query)
        return web.Response(body=body, content_type="application/json")

    async def read_sources(self) -> None:
        """Read what the source says of the messages: here, one module after the other, as `classes_in` asks for. Each
        holds the event loop for some milliseconds, the first time."""
        if self._has_read:
            return
        for module in await asyncio.to_thread(lambda: modules_of(_messages(self._routes()))):
            classes_in(module)
            await asyncio.sleep(0)
        self._has_read = True

    def made(self, describe: Describe, *, pretty: bool) -> bytes:
        with self._making:
            if (describe, pretty) not in self._made:
                self._made[describe, pretty] = wire.dumps(describe(self._routes()), pretty=pretty)
            return self._made[describe, pretty]


def with_documents(routes: Sequence[Route]) -> tuple[Route, ...]:
    """The routes, and those that answer the documents of them all."""
    documents = Documents(lambda: described)
    swagger = operation(
        "OpenAPI",
        "GET",
        "/api/v1/api.swagger.json",
        documents.swagger,
        ANYONE,
        request=GetDocument,
        response=Document,
        tag="Internal",
    )
    openapi_31 = operation(
        "OpenAPI31",
        "GET",
        "/api/v1/openapi.json",
        documents.openapi_31,
        ANYONE,
        request=GetDocument,
        response=Document,
        tag="Internal",
    )
    described = (*routes, swagger, openapi_31)
    return described
