"""Sends requests side by side over connections that are kept, judges the answers, and shrinks what fails."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
import orjson
import yarl

from tests.contract.rest.schema import OPERATIONS
from tests.fuzz.cases import Case
from tests.fuzz.judge import ANSWER_WITHIN_S, LET_IN, WAITS, Answer, complaints

SIDE_BY_SIDE = 16

MOMENT_S = 0.3
"""How long a request that may wait for others is left waiting."""


@dataclass(frozen=True)
class Failure:
    case: Case
    caller: str
    complaint: str
    curl: str


@dataclass
class Tally:
    """What became of the requests."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By caller and status; 0 is for those that were given up."""
    slowest_s: float = 0.0
    failures: list[Failure] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return self.statuses.total()


Callers = Mapping[str, str | None]
"""The token of each kind of caller."""


class Driver:
    def __init__(
        self,
        http: aiohttp.ClientSession,
        base: str,
        callers: Callers,
        renewed: Callable[[], Awaitable[Callers]],
        could: Callable[[Case], Awaitable[bool]],
    ) -> None:
        """`renewed` answers with fresh tokens: requests log out, change passwords and lock users out. `could` says
        whether the user may make a request after all, because of what other requests did."""
        self._http, self._base, self._callers = http, base, callers
        self._renewed, self._could = renewed, could
        self._asking = asyncio.Lock()

    async def send_all(self, cases: Sequence[tuple[str, Case]], tally: Tally) -> None:
        """Each case as its caller."""
        left = iter(cases)

        async def worker() -> None:
            for caller, case in left:
                await self._judge(caller, case, tally)

        await asyncio.gather(*(worker() for _ in range(SIDE_BY_SIDE)))

    async def _judge(self, caller: str, case: Case, tally: Tally) -> None:
        token = self._callers[caller]
        answer = await self.send(caller, case)
        if answer.status == 401 and token is not None:
            await self._renew(caller, token)
        tally.statuses[caller, answer.status] += 1
        tally.slowest_s = max(tally.slowest_s, answer.took_s)
        found = complaints(case, caller, answer)
        if caller == "user" and any(LET_IN in complaint for complaint in found) and await self._could_after_all(case):
            return
        for complaint in found[:1]:
            small = await self._smaller(caller, case)
            tally.failures.append(Failure(small, caller, complaint, self.curl(caller, small)))

    async def _could_after_all(self, case: Case) -> bool:
        async with self._asking:
            return await self._could(case)

    async def _renew(self, caller: str, refused: str) -> None:
        async with self._asking:
            if self._callers[caller] == refused:
                self._callers = await self._renewed()

    async def send(self, caller: str, case: Case) -> Answer:
        token = self._callers[caller]
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        may_wait = case.operation in WAITS or "stream" in OPERATIONS[case.operation]
        url, began = yarl.URL(self._base + case.target, encoded=True), time.monotonic()
        status = 0
        try:
            async with asyncio.timeout(MOMENT_S if may_wait else ANSWER_WITHIN_S):
                async with self._http.request(case.method, url, data=case.body, headers=headers) as response:
                    status = response.status
                    body = await response.read()
                    return Answer(status, response.content_type, body, time.monotonic() - began)
        except TimeoutError:
            return Answer(status, "", b"", time.monotonic() - began, cut_off=True)
        except aiohttp.ClientError as error:
            return Answer(0, "", repr(error).encode(), time.monotonic() - began)

    # ---------------------------------------------------------------- what is told of a failure

    async def _smaller(self, caller: str, case: Case) -> Case:
        """The case without whatever it fails without."""
        for smaller in _parts_left_out(case):
            if complaints(smaller, caller, await self.send(caller, smaller)):
                return await self._smaller(caller, smaller)
        return case

    def curl(self, caller: str, case: Case) -> str:
        parts = ["curl", "-sS", "-X", case.method, self._base + case.target]
        if self._callers[caller]:
            parts += ["-H", f"Authorization: Bearer ${caller.upper()}_TOKEN"]
        if case.body is not None:
            parts += ["--data-binary", case.body.decode("utf-8", "backslashreplace")[:2_000]]
        return shlex.join(parts)


def _parts_left_out(case: Case) -> Iterator[Case]:
    """Each case that has one part fewer: a parameter of the query, a field of the body."""
    for place in range(len(case.query)):
        yield replace(case, query=case.query[:place] + case.query[place + 1 :])
    document = _document(case.body)
    if isinstance(document, dict):
        for key in document:
            rest = {name: value for name, value in document.items() if name != key}
            yield replace(case, body=orjson.dumps(rest))


def _document(body: bytes | None) -> Any:
    try:
        return None if body is None else orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
