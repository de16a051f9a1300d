"""The pages for whoever looks after a process."""

from __future__ import annotations

import asyncio
from http.client import HTTPConnection
from pathlib import Path

import pytest

from resolute.proto.errors import InvalidConfig
from resolute.service import health, metrics_token
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
    async with asyncio.timeout(60):
        assert await reader.read() == b""
    writer.close()
    await site.close()


TOKEN = metrics_token.new()


async def asked(site: HealthSite, host: str, path: str, **headers: str) -> int:
    """The status of the answer."""

    def ask() -> int:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()

    port = await site.open(host, 0)
    try:
        return await asyncio.to_thread(ask)
    finally:
        await site.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer metrics-guessed"}, 401),
        ({"Authorization": "Bearer metrics-\xff"}, 401),  # which is no text in UTF-8
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
    ],
)
async def test_metrics_that_others_reach_open_by_the_token_alone(headers: dict[str, str], status: int) -> None:
    assert await asked(HealthSite({}, token=TOKEN), "0.0.0.0", "/metrics", **headers) == status


async def test_without_a_token_nobody_reads_metrics_from_elsewhere() -> None:
    for token in ("", "metrics-"):
        header = {"Authorization": f"Bearer {token}"}
        assert await asked(HealthSite({}), "0.0.0.0", "/metrics", **header) == 403
    for path in ("/health", "/ready"):
        assert await asked(HealthSite({}), "0.0.0.0", path) == 200


async def test_on_loopback_everybody_on_this_machine_reads_metrics_but_no_page_of_the_web() -> None:
    """Such a page may give its own name the address 127.0.0.1, and would then read the answer."""
    assert await asked(HealthSite({}, token=TOKEN), "127.0.0.1", "/metrics") == 200
    assert await asked(HealthSite({}, token=TOKEN), "127.0.0.1", "/metrics", Host="localhost:9000") == 200
    assert await asked(HealthSite({}, token=TOKEN), "127.0.0.1", "/metrics", Host="rebound.example:9000") == 421


def test_a_file_that_holds_no_token_of_the_right_form_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    for text in ("", "short", "metrics-short", "x" * 60):
        file.write_text(text)
        with pytest.raises(InvalidConfig, match="metrics_token_file: expected a token"):
            metrics_token.read(file)
    with pytest.raises(InvalidConfig, match="metrics_token_file: cannot read"):
        metrics_token.read(tmp_path / "none")
    file.write_text(f"{TOKEN}\n")
    assert metrics_token.read(file) == TOKEN
