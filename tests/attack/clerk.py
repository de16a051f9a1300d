"""A client that writes down what the cluster acknowledged, to ask for it again at the end (promise P1).

The clerk makes workspaces, one after another, through every blow. A workspace whose creation was answered with 2xx must
be there at once, at every later look, and at the end exactly once. One that was not answered may be there or not.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.attack.background import Background

ANSWER_S = 15.0
WAITS = frozenset({429, 503})
"""Answers that say: try again later. Anything else that is no success is a fault of the cluster."""


class Clerk(Background):
    every_s = 0.1

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url, self._token = url, ""
        self._number, self._answered_at_s = 0, time.monotonic()
        self.acknowledged: list[str] = []
        self.faults: list[str] = []
        self.unanswered = 0
        self.longest_silence_s = 0.0

    def round(self) -> None:
        self._number += 1
        try:
            self._create(f"attacked {self._number}")
        except (OSError, HTTPException, ValueError):
            self.unanswered += 1
            return
        now_s = time.monotonic()
        self.longest_silence_s = max(self.longest_silence_s, now_s - self._answered_at_s)
        self._answered_at_s = now_s

    def _create(self, name: str) -> None:
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
