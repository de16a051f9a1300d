"""A service as a process: `python -m resolute.relay`, with its pages for whoever looks after it, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from tests.servers import Nats, Postgres, wait_for

A_BUG = """
import asyncio
from resolute.service.run import run

async def serve(context):
    await asyncio.sleep(0)
    assert False, "two and two are five"

run(serve, "broken")
"""


class Process:
    def __init__(self, folder: Path, *argv: str, **settings: str) -> None:
        self.health = f"http://127.0.0.1:{settings.get('RESOLUTE_HEALTH_PORT', '0')}"
        self.log = folder / "log"
        with self.log.open("ab") as log:
            env = {name: value for name, value in os.environ.items() if not name.startswith("RESOLUTE_")}
            self.process = subprocess.Popen([sys.executable, *argv], env={**env, **settings}, stdout=log, stderr=log)

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(self.health + path, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def until(self, path: str, status: int) -> dict[str, Any]:
        def page() -> str:
            found, text = self.get(path)
            return text if found == status else ""

        return dict(json.loads(str(wait_for(page, what=f"{status} from {path}: {self.log.read_text()}", within_s=60))))

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def settings(nats_server: Nats) -> dict[str, str]:
    return {
        "RESOLUTE_NATS_URL": nats_server.url,
        "RESOLUTE_LOG_FORMAT": "json",
        "RESOLUTE_HEALTH_PORT": str(free_port()),
    }


@pytest.fixture
def relay(tmp_path: Path, settings: dict[str, str], own_postgres: Postgres) -> Iterator[Process]:
    process = Process(tmp_path, "-m", "resolute.relay", RESOLUTE_DATABASE_URL=own_postgres.fresh_database(), **settings)
    yield process
    if process.process.poll() is None:
        process.process.kill()
        process.process.wait()


def test_a_service_tells_how_it_is_through_outages_and_stops_when_told(
    relay: Process, own_postgres: Postgres, nats_server: Nats
) -> None:
    assert relay.until("/ready", 200) == {"services": True, "log": True, "bus": True}
    assert relay.get("/health") == (200, '{"status": "up"}')
    status, metrics = relay.get("/metrics")
    assert (status, "resolute_relay_position" in metrics) == (200, True)

    nats_server.kill(wipe=True)
    assert relay.until("/ready", 503)["bus"] is False
    nats_server.start()
    relay.until("/ready", 200)

    own_postgres.kill()
    assert relay.until("/ready", 503)["log"] is False
    own_postgres.start()
    relay.until("/ready", 200)

    assert relay.end() == 0
    assert [line["event"] for line in relay.lines()][-1] == "stopped"


def test_a_service_told_to_stop_while_it_waits_for_its_database_stops(tmp_path: Path, settings: dict[str, str]) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    waiting = Process(tmp_path, "-m", "resolute.relay", RESOLUTE_DATABASE_URL=nowhere, **settings)
    wait_for(lambda: "waiting" in waiting.log.read_text(), what="patience")
    assert waiting.end() == 0


def test_settings_that_cannot_be_used_are_named_and_the_exit_code_is_two(tmp_path: Path) -> None:
    process = Process(tmp_path, "-m", "resolute.relay")
    assert process.process.wait(60) == 2
    assert process.log.read_text().startswith("resolute.relay: database_url is not set: give RESOLUTE_DATABASE_URL")


def test_a_bug_stops_the_process_and_is_logged(tmp_path: Path, settings: dict[str, str], postgres_dsn: str) -> None:
    process = Process(tmp_path, "-c", A_BUG, RESOLUTE_DATABASE_URL=postgres_dsn, **settings)
    assert process.process.wait(60) == 1
    (told,) = [line for line in process.lines() if line["event"] == "stopped by a bug"]
    assert "two and two are five" in told["exception"]
