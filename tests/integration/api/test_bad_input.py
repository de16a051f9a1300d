"""Whatever is sent, the answer says what is wrong with it; nothing of it is the gateway's own failure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest

from resolute.api.table import ROUTES
from tests.integration.api import a_search
from tests.integration.api.running import Client, running


async def test_odd_values_in_paths_and_queries_are_the_callers_mistake(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        for path in (
            "/api/v1/experiments/x",
            "/api/v1/experiments/99999999999",
            "/api/v1/trials/-1",
            "/api/v1/checkpoints/%00",
            "/api/v1/agents/%00/slots/0",
            "/api/v1/experiments?limit=many",
            "/api/v1/experiments?states=STATE_LOST",
            "/api/v1/experiments?archived=perhaps",
            "/checkpoints/..%2F..%2Fetc",
            "/api/v1/trials/1/logs",
        ):
            answer = await admin.call("GET", path)
            assert answer.status in (400, 404), (path, answer.status, answer.body)
            assert "error" in answer.body or "message" in answer.body


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"text"', b"null", b"\xff", b'{"user": [1]}', b"7"])
async def test_odd_bodies_are_the_callers_mistake_on_every_route(postgres_dsn: str, body: bytes) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        for route in ROUTES:
            if route.method in ("GET", "DELETE") or route.operation == "Logout":
                continue
            path = route.documented_path.replace("{username}", "nobody")
            path = "/".join("77" if part.startswith("{") else part for part in path.split("/"))
            answer = await admin.call(route.method, path, data=body)
            assert answer.status < 500 or answer.status == 503, (route.operation, answer.status, answer.body)


async def test_a_stream_that_cannot_begin_says_so_in_the_form_of_streams(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")
        answer = await someone.call("GET", "/api/v1/trials/77/logs")
        assert answer.status == 404
        assert answer.body["error"]["grpcCode"] == 5
        assert "77" in answer.body["error"]["message"]


async def test_a_stranger_cannot_send_much_and_nobody_too_much(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        big = b'{"username": "' + b"a" * 70_000 + b'"}'
        answer = await cluster.nobody.call("POST", "/api/v1/auth/login", data=big)
        assert (answer.status, answer.body["error"]["reason"]) == (413, "ResourceExhausted")
        someone = await cluster.nobody.login("determined")
        assert (await someone.call("POST", "/api/v1/users/setting", data=big)).status == 200
        answer = await someone.call("POST", "/api/v1/experiments", data=_endless(), timeout=60)
        assert answer.status == 413


async def test_patterns_are_bounded_where_they_are_sent(postgres_dsn: str, tmp_path: Path) -> None:
    async with running(postgres_dsn) as cluster:
        await a_search.tell(cluster, tmp_path)
        admin = await cluster.nobody.login("admin")
        for patterns, why in (
            (["*"] * 101, "at most 100"),
            (["a" * 501], "at most 500"),
            ("*", "expected"),
            ([["*"]], "expected"),
        ):
            body = {"checkpointUuids": [a_search.BEST], "checkpointGlobs": patterns}
            answer = await admin.call("POST", "/api/v1/checkpoints/rm", body)
            assert (answer.status, "checkpointGlobs" in answer.error, why in answer.error) == (400, True, True)
        for text, why in (
            ("(" * 2_000, "at most 1000"),
            (r"(a*)*\1", "back reference"),
            ("(a)" * 12 + r"\12", "back reference"),
            ("(?=a)", "regular expression"),
            (".{1000}" * 9, "too large"),
        ):
            answer = await admin.call("GET", f"/api/v1/trials/1/logs?enableRegex=true&searchText={quote(text)}")
            said = str(answer.body)
            assert (answer.status, why in said, "searchText" in said) == (400, True, True), (text, said)


async def _endless() -> AsyncIterator[bytes]:
    for _ in range(140):
        yield b" " * 1_048_576


async def test_the_same_request_under_one_key_is_carried_out_once(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")

        async def create(client: Client, name: str, key: str) -> int:
            headers = {"Idempotency-Key": key}
            answer = await client.call("POST", "/api/v1/workspaces", {"name": name}, headers=headers)
            return int(answer.body["workspace"]["id"])

        first = await create(someone, "vision", "k")
        assert await create(someone, "vision", "k") == first
        assert await create(someone, "speech", "k") != first
