"""Reading the body of a request: the one that came with its head, and the one that is still on its way."""

from __future__ import annotations

import asyncio
import hashlib
from unittest.mock import Mock

import pytest
from aiohttp import StreamReader, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.test_utils import make_mocked_request

from resolute.api.body_kinds import FROM_STRANGERS, ORDINARY
from resolute.api.edge.protocol import BodyTooSlow
from resolute.api.request_body import RequestBody, read_body
from resolute.api.uploads import Uploads
from resolute.api.wire import WireError
from resolute.proto.errors import InvalidConfig


def arriving() -> StreamReader:
    loop = asyncio.get_running_loop()
    protocol = Mock(BaseProtocol, _reading_paused=False)
    return StreamReader(protocol, 2**16, loop=loop)


def request_of(content: StreamReader, length: int | None = None) -> web.Request:
    headers = {} if length is None else {"Content-Length": str(length)}
    return make_mocked_request("POST", "/", headers=headers, payload=content)


async def read(content: StreamReader, length: int | None = None) -> RequestBody:
    return await read_body(request_of(content, length), ORDINARY, Uploads())


async def test_a_body_that_came_with_its_head_is_not_waited_for() -> None:
    content = arriving()
    content.feed_data(b'{"a":')
    content.feed_data(b"1}")
    content.feed_eof()
    body = await read(content, 7)
    assert (body.raw, body.awaited) == (b'{"a":1}', False)


async def test_a_body_that_is_on_its_way_is_waited_for() -> None:
    content = arriving()
    content.feed_data(b'{"a":')
    reading = asyncio.create_task(read(content, 7))
    await asyncio.sleep(0)
    content.feed_data(b"1}")
    content.feed_eof()
    body = await reading
    assert (body.raw, body.awaited) == (b'{"a":1}', True)


@pytest.mark.parametrize("whole", [True, False])
async def test_its_digest_is_known_after_it_was_forgotten(whole: bool) -> None:
    content = arriving()
    content.feed_data(b"{}")
    if whole:
        content.feed_eof()
    else:
        asyncio.get_running_loop().call_soon(content.feed_eof)
    body = await read(content)
    body.forget()
    assert (body.raw, body.digest) == (b"", hashlib.sha256(b"{}").hexdigest())


async def test_a_body_that_says_nothing_of_its_length_is_held_to_the_limit_too() -> None:
    content = arriving()
    content.feed_data(b"x" * (FROM_STRANGERS.limit_bytes + 1))
    content.feed_eof()
    with pytest.raises(WireError, match="larger than 65,536 bytes"):
        await read_body(request_of(content), FROM_STRANGERS, Uploads())


@pytest.mark.parametrize("ended", [True, False])
async def test_a_body_that_broke_off_is_refused(ended: bool) -> None:
    content = arriving()
    content.feed_data(b"{")
    content.set_exception(web.RequestPayloadError("cut off"))
    if ended:
        content.feed_eof()
    with pytest.raises(InvalidConfig, match="cut off"):
        await read(content)


@pytest.mark.parametrize("ended", [True, False])
async def test_a_body_that_came_too_slowly_is_answered_as_such(ended: bool) -> None:
    content = arriving()
    content.set_exception(BodyTooSlow("too slow"))
    if ended:
        content.feed_eof()
    with pytest.raises(WireError, match="too slow"):
        await read(content)
