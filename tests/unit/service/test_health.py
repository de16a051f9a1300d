"""The pages for whoever looks after a process."""

from __future__ import annotations

import asyncio

import pytest

from resolute.service import health
from resolute.service.health import HealthSite


@pytest.mark.parametrize("first", [b"", b"GET /metrics HTTP/1.1\r\nHost: a\r\n"])
async def test_a_connection_that_brings_no_whole_request_is_closed(
    monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    monkeypatch.setattr(health, "IDLE_S", 0.1)
    site = HealthSite({})
    port = await site.open("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(first)
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    writer.close()
    await site.close()
