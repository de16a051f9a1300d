"""A master in a thread of its own, just large enough to answer what a test asks for."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from resolute.cli import main

Answer = Callable[["Asked"], Any] | Any

USER = {"username": "determined", "admin": True, "active": True, "id": 2}


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Any
    token: str
    key: str | None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass
class FakeMaster:
    """Answers by (method, path); remembers what it was asked. `refuse` and `lines` shape special answers."""

    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    passwords: dict[str, str] = field(default_factory=lambda: {"determined": ""})

    def on(self, what: str, answer: Answer) -> None:
        """Answer `what`, as in "GET /api/v1/me"; a callable is given the request."""
        self.answers[what] = answer

    def last(self, what: str) -> Asked:
        return next(each for each in reversed(self.asked) if str(each) == what)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        asked = Asked(
            request.method,
            request.path,
            tuple(request.query.items()),
            json.loads(raw) if raw else None,
            request.headers.get("Authorization", "").removeprefix("Bearer "),
            request.headers.get("Idempotency-Key"),
        )
        self.asked.append(asked)
        if asked.path.startswith("/api/v1/") and asked.path != "/api/v1/auth/login" and not asked.token:
            return refusal(401, "token not found")
        answer = self.answers.get(str(asked), missing)
        answer = answer(asked) if callable(answer) else answer
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)

    def login(self, asked: Asked) -> Any:
        if self.passwords.get(asked.body["username"]) != asked.body["password"]:
            return refusal(401, "invalid credentials")
        return {"token": f"token-of-{asked.body['username']}", "user": {**USER, "username": asked.body["username"]}}


def refusal(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"code": 0, "reason": "", "error": message}}, status=status)


def missing(asked: Asked) -> web.Response:
    return refusal(404, f"nothing at {asked}")


def results(*documents: Any) -> web.Response:
    """A stream that is complete."""
    text = "".join(json.dumps({"result": each}) + "\n" for each in documents)
    return web.Response(text=text, content_type="application/json")


def whoever_has_the_token(asked: Asked) -> Any:
    if not asked.token.startswith("token-of-"):
        return refusal(401, "token not found")
    return {"user": {**USER, "username": asked.token.removeprefix("token-of-")}}


@pytest.fixture
def master(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeMaster]:
    """A running fake that knows the user `determined`; DET_MASTER points at it, and the token store is empty."""
    fake = FakeMaster()
    fake.on("GET /info", {"version": "0.38.1", "cluster_id": "c", "master_id": "m", "cluster_name": ""})
    fake.on("POST /api/v1/auth/login", fake.login)
    fake.on("POST /api/v1/auth/logout", {})
    fake.on("GET /api/v1/me", whoever_has_the_token)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(serve(fake), loop).result(10)
    for name in ("DET_USER", "DET_PASS", "DET_MASTER_ADDR", "DET_USER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DET_MASTER", fake.url)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield fake
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


async def serve(fake: FakeMaster) -> web.AppRunner:
    app = web.Application(client_max_size=1 << 28)
    app.router.add_route("*", "/{path:.*}", fake.handle)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    return runner


@dataclass
class Outcome:
    status: int
    out: str
    err: str


@pytest.fixture
def det(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run one `det` command as a person would type it; the words are split at spaces."""

    def run(words: str, *more: str) -> Outcome:
        try:
            status = main.det([*words.split(), *more])
        except SystemExit as stopped:  # argparse: usage errors and help
            status = int(stopped.code or 0)
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run


@pytest.fixture
def refuse() -> Callable[[int, str], web.Response]:
    return refusal


@pytest.fixture
def stream() -> Callable[..., web.Response]:
    return results


@pytest.fixture
def experiment() -> Callable[..., dict[str, Any]]:
    """An experiment as the wire shows it."""

    def build(**changes: Any) -> dict[str, Any]:
        return {
            "id": 7,
            "name": "mnist",
            "username": "determined",
            "state": "STATE_ACTIVE",
            "archived": False,
            "config": {"name": "mnist", "searcher": {"name": "single", "metric": "loss"}},
            "startTime": "2026-01-02T03:04:05.123456789Z",
            "numTrials": 1,
            "jobId": "j",
            "originalConfig": "",
            "projectId": 1,
            "projectOwnerId": 1,
            "searcherType": "single",
            **changes,
        }

    return build
