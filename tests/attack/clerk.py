"""A client that writes down what the cluster acknowledged, to ask for it again at the end (promise P1).

The clerk makes workspaces, one after another, through every blow. A workspace whose creation was answered with 2xx must
be there at once, at every later look, and at the end exactly once. One that was not answered may be there or not.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

EVERY_S = 0.1
ANSWER_S = 15.0
WAITS = frozenset({429, 503})
"""Answers that say: try again later. Anything else that is no success is a fault of the cluster."""


class Clerk:
    def __init__(self, url: str) -> None:
        self._url, self._token = url, ""
        self._stop = threading.Event()
        self.acknowledged: list[str] = []
        self.faults: list[str] = []
        self.answered = self.unanswered = 0
        self.longest_silence_s = 0.0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        thread = threading.Thread(target=self._work, name="clerk", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join(2 * ANSWER_S)

    def _work(self) -> None:
        number, answered_at = 0, time.monotonic()
        while not self._stop.wait(EVERY_S):
            number += 1
            try:
                self._one_round(f"attacked {number}")
            except (OSError, HTTPException, ValueError):
                self.unanswered += 1
                continue
            self.answered += 1
            self.longest_silence_s = max(self.longest_silence_s, time.monotonic() - answered_at)
            answered_at = time.monotonic()

    def _one_round(self, name: str) -> None:
        """Creates one workspace and looks whether it is there; notes a fault where it is not."""
        self._ask("POST", "/api/v1/workspaces", {"name": name})
        self.acknowledged.append(name)
        if self.count(name) != 1:
            self.faults.append(f"workspace {name!r} was acknowledged, and a look right after it did not show it once")

    def count(self, name: str) -> int:
        return self.names()[name]

    def names(self) -> Counter[str]:
        """How often each name of a workspace is listed."""
        answer = self._ask("GET", "/api/v1/workspaces?limit=-1")
        return Counter(workspace["name"] for workspace in answer["workspaces"])

    def missing(self) -> list[str]:
        """Names that were acknowledged and are not listed exactly once now."""
        listed = self.names()
        return [name for name in self.acknowledged if listed[name] != 1]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        """Raises OSError where the gateway does not answer, or asks to be asked later."""
        if not self._token and path != LOGIN:
            self._token = self._ask("POST", LOGIN, {"username": "determined", "password": "", "isHashed": True})[
                "token"
            ]
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = json.dumps(body).encode() if body is not None else None
        try:
            with urlopen(Request(self._url + path, data, headers, method=method), timeout=ANSWER_S) as answer:
                return json.load(answer)
        except HTTPError as error:
            if error.code not in WAITS:
                self.faults.append(f"{method} {path} was answered with {error.code}: {error.read()[:300]!r}")
            raise


LOGIN = "/api/v1/auth/login"
DEFAULT_USER = {"username": "determined", "password": "", "isHashed": True}
