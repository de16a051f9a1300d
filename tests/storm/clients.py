"""Clients of a storm: one reads numbers that only grow, one writes and remembers what was acknowledged."""

from __future__ import annotations

import http.client
import json
import time
from collections import Counter
from itertools import count
from typing import Any

from tests.attack.background import Background

ANSWER_S = 60.0
COUNTED = (
    "/api/v1/trials/16/checkpoints?limit=1",
    "/api/v1/workspaces?limit=1",
    "/api/v1/experiments?limit=1",
)
"""Lists that nothing is removed from during a storm."""


class Client(Background):
    """Asks one gateway. Any status of 500 and above is a fault, except for 503 with Retry-After, which is counted."""

    def __init__(self, port: int, token: str) -> None:
        super().__init__()
        self.port, self._token = port, token
        self.answers: Counter[int] = Counter()
        self.waits: Counter[str] = Counter()
        self.unanswered = 0
        self.slowest_s = 0.0
        self.faults: list[str] = []

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The body of a success, or None."""
        connection, began_s = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S), time.monotonic()
        try:
            headers = {"Authorization": f"Bearer {self._token}"}
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            text = answer.read()
        except TimeoutError:
            self.faults.append(f"{path}: no answer within {ANSWER_S} s")
            return None
        except (OSError, http.client.HTTPException):
            self.unanswered += 1  # the gateway is dead, or was killed while it had the request
            return None
        finally:
            connection.close()
        self.slowest_s = max(self.slowest_s, time.monotonic() - began_s)
        self.answers[answer.status] += 1
        if answer.status == 200:
            return json.loads(text)
        if answer.status == 503 and answer.getheader("Retry-After"):
            self.waits[text.decode()[:150]] += 1
        else:
            self.faults.append(f"{method} {path}: {answer.status} {text[:200]!r}")
        return None


class Reader(Client):
    """Reads how long some lists are. A list that is shorter than in the answer before is an answer that went back."""

    every_s = 0.02

    def __init__(self, port: int, token: str) -> None:
        super().__init__(port, token)
        self.latest: dict[str, int] = {}

    def round(self) -> None:
        for path in COUNTED:
            if (answer := self.ask("GET", path)) is not None:
                self._note(path, int(answer["pagination"]["total"]))

    def _note(self, path: str, total: int) -> None:
        if total < self.latest.get(path, 0):
            self.faults.append(f"{path}: {total} after {self.latest[path]}: the answer went back in time")
        self.latest[path] = total


class Writer(Client):
    """Makes workspaces. One that was acknowledged must be shown by every gateway, once."""

    every_s = 0.1

    def __init__(self, port: int, token: str) -> None:
        super().__init__(port, token)
        self._numbers = count()
        self.acknowledged: list[str] = []

    def round(self) -> None:
        name = f"storm {self.port} {next(self._numbers)}"
        if self.ask("POST", "/api/v1/workspaces", {"name": name}) is not None:
            self.acknowledged.append(name)

    def missing(self, names: list[str]) -> list[str]:
        """Those that this gateway does not show exactly once."""
        answer = self.ask("GET", "/api/v1/workspaces?limit=-1")
        shown = Counter(workspace["name"] for workspace in answer["workspaces"])
        return [name for name in names if shown[name] != 1]
