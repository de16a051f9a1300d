"""Passwords: the form clients send them in, how they are kept, and how many guesses are allowed."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict, deque
from collections.abc import Callable
from weakref import WeakValueDictionary

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

CLIENT_SALT = "GubPEmmotfiK9TMD6Zdw"
"""Public: it only keeps the password itself off the wire. What protects the stored hash is argon2's own salt."""

# 19 MiB and two passes, OWASP's recommendation: a small gateway can afford several at once.
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)

WINDOW_S = 60.0

KNOWN_MAX = 10_000


def client_form(password: str, *, hashed: bool) -> str:
    """What stands for `password` from here on: SHA-512 in hex of salt and password; blank stays blank."""
    if hashed or not password:
        return password
    return hashlib.sha512((CLIENT_SALT + password).encode()).hexdigest()


async def hash_of(form: str) -> str | None:
    """What to keep of a password in client form; None for a blank one."""
    return await asyncio.to_thread(HASHER.hash, form) if form else None


async def matches(form: str, kept: str | None) -> bool:
    if kept is None or not form:
        return kept is None and not form
    return await asyncio.to_thread(_verify, kept, form)


def _verify(kept: str, form: str) -> bool:
    try:
        return HASHER.verify(kept, form)
    except VerifyMismatchError:
        return False


class Guesses:
    """Failed logins of the last minute, by user name and address."""

    def __init__(self, allowed: int, clock: Callable[[], float]) -> None:
        self._allowed, self._clock = allowed, clock
        self._failures: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    def turn(self, username: str, address: str) -> asyncio.Lock:
        """Held from asking whether there were too many until the outcome is told: guesses made at once are counted
        one by one."""
        return self._turns.setdefault((username, address), asyncio.Lock())

    def too_many(self, username: str, address: str) -> bool:
        failures = self._failures.get((username, address))
        while failures and failures[0] < self._clock() - WINDOW_S:
            failures.popleft()
        return failures is not None and len(failures) >= self._allowed

    def failed(self, username: str, address: str) -> None:
        self._failures.setdefault((username, address), deque(maxlen=self._allowed)).append(self._clock())
        self._failures.move_to_end((username, address))
        while len(self._failures) > KNOWN_MAX:
            self._failures.popitem(last=False)

    def succeeded(self, username: str, address: str) -> None:
        self._failures.pop((username, address), None)
