"""Plain HTTP: a request goes to a task as it comes, and the answer goes back as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web
from yarl import URL

from resolute.api.edge.protocol import BodyTooSlow
from resolute.api.gateway import PASSED_ON
from resolute.api.proxy import headers as rules
from resolute.api.proxy.connector import Clients
from resolute.api.proxy.dials import Door, Unreachable
from resolute.api.proxy.targets import Service
from resolute.api.settings import ApiSettings
from resolute.proto.proxy import Hop

HOST_OF_TASKS = "task.invalid"
"""In the URLs of requests to tasks. No name is looked up: the connections come from agents."""


class BrokenOff(ConnectionError):
    """The task ended the connection in the middle of its answer."""


async def forward(
    request: web.Request, clients: Clients, door: Door, service: Service, settings: ApiSettings
) -> web.StreamResponse:
    """Raises Unreachable, RedirectsOutside, and BrokenOff where a part of the answer has been sent."""
    async with clients.of(door) as session:
        try:
            async with session.request(
                request.method,
                URL(f"http://{HOST_OF_TASKS}{request.raw_path}", encoded=True),
                headers=rules.for_task(request, settings),
                data=_body(request),
                allow_redirects=False,
            ) as answer:
                return await _passed_on(request, answer, service, settings)
        except aiohttp.ClientResponseError as error:
            raise Unreachable(
                Hop.TASK, f"the task's answer is no HTTP that can be passed on: {error.message}"
            ) from error
        except (aiohttp.ClientConnectionError, ConnectionError) as error:
            if isinstance(error, BrokenOff):
                raise
            raise Unreachable(Hop.TASK, "the task closed the connection without an answer") from error


def _body(request: web.Request) -> AsyncIterator[bytes] | None:
    return _parts(request) if request.body_exists else None


async def _parts(request: web.Request) -> AsyncIterator[bytes]:
    try:
        async for part in request.content.iter_any():
            yield part
    except BodyTooSlow as error:
        raise ConnectionResetError(str(error)) from error


async def _passed_on(
    request: web.Request, answer: aiohttp.ClientResponse, service: Service, settings: ApiSettings
) -> web.StreamResponse:
    raw = [(name.decode("latin-1"), value.decode("utf-8", "surrogateescape")) for name, value in answer.raw_headers]
    headers = rules.for_client(raw, request, service.name, settings)
    request[PASSED_ON] = True
    response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
    await response.prepare(request)
    try:
        while chunk := await answer.content.readany():
            await response.write(chunk)
    except aiohttp.ClientError as error:
        if request.transport is not None:  # what came must not look whole
            request.transport.abort()
        raise BrokenOff("the task broke off its answer") from error
    except asyncio.CancelledError:
        answer.close()
        raise
    await response.write_eof()
    return response
