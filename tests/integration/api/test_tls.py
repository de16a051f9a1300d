"""The gateway speaks TLS when it has a certificate: to who trusts it, and to nobody without."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from resolute.api import tls
from resolute.deploy import certificates
from resolute.proto.errors import InvalidConfig
from tests.integration.api.running import Client, running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    certificates.ensure_authority(tmp_path, "test")
    certificates.ensure_certificate(tmp_path, "gateway", ["localhost", "127.0.0.1"])
    return tmp_path


async def test_who_trusts_the_authority_is_served_and_nobody_else(postgres_dsn: str, folder: Path) -> None:
    told: dict[str, Any] = {"tls_cert": folder / "gateway.crt", "tls_key": folder / "gateway.key"}
    async with running(postgres_dsn, **told) as cluster:
        base, http = cluster.nobody.base.replace("http://", "https://"), cluster.nobody.http
        trusted = ssl.create_default_context(cafile=str(folder / certificates.AUTHORITY))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as trusting:
            answer = await Client(base, trusting).call("POST", "/api/v1/auth/login", {"username": "determined"})
            assert answer.status == 200
            assert "Secure" in answer.headers["Set-Cookie"]
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await Client(base, http).call("GET", "/api/v1/master")
        with pytest.raises(aiohttp.ClientError):
            await cluster.nobody.call("GET", "/api/v1/master")


async def test_without_tls_the_cookie_goes_over_what_there_is(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        answer = await cluster.nobody.call("POST", "/api/v1/auth/login", {"username": "determined"})
        assert "Secure" not in answer.headers["Set-Cookie"]


def test_a_certificate_and_a_key_that_do_not_go_together_are_named(folder: Path) -> None:
    cert, key = folder / "gateway.crt", folder / "gateway.key"
    with pytest.raises(InvalidConfig, match=r"api\.tls_key is not set"):
        tls.context(cert, None)
    with pytest.raises(InvalidConfig, match=r"api\.tls_cert: there is no file"):
        tls.context(folder / "none.crt", key)
    with pytest.raises(InvalidConfig, match="cannot be used together"):
        tls.context(cert, folder / certificates.AUTHORITY_KEY)
    assert tls.context(None, None) is None
