"""Why a gang ends: which rank failed first, when others fail as a consequence, and when enough reports are known to
decide that."""

from __future__ import annotations

import re
import signal
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

SETTLE_S = 0.3
"""How long to wait after the first report of a failure: a report of an earlier failure may still be under way."""
ECHO_S = 15.0
"""The same, while all known failures are *echoes* (of ranks that lost their connection to another rank) and some rank
still runs. The rank that failed first may end last: it prints its traceback and runs its exit functions after it has
closed its connections."""

GOT_OVER_S = 10.0
"""A traceback that was printed earlier than this before the program's end is not the reason for its end."""
WORDS_MAX = 2000
LOST = -1
"""The code for a container that is lost: it is not known how its ranks ended."""

_ECHO = re.compile(
    r"HorovodInternalError|Horovod has been shut down|Connection (reset|closed) by peer|Broken pipe|rank \d+ has gone"
    r"|DistNetworkError|DistBackendError|NCCL.*(remote process|Socket)|[Cc]onnection was closed|Connect(ed)? timeout"
)
_TORCHS_PREFIX = re.compile(r"^\[rank\d+\]: ?")  # torch.distributed prints tracebacks that way
_ASKED_TO_END = frozenset(128 + number for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))


class Failure(NamedTuple):
    """A rank or container that failed. `at`: by the monotonic clock of this process; a message to another launcher has
    the age of the failure instead, since each host has its own clock."""

    who: str
    where: str
    code: int
    words: str
    at: float
    hopeless: bool = False

    @property
    def is_echo(self) -> bool:
        """Whether the failure looks like a consequence of another rank's end."""
        return self.code in _ASKED_TO_END or _ECHO.search(self.words) is not None

    def as_message(self, now: float) -> dict[str, Any]:
        return {**self._asdict(), "at": None, "age_s": now - self.at}


def failure_of(message: dict[str, Any], now: float) -> Failure:
    fields = {name: message[name] for name in Failure._fields if name != "at"}
    return Failure(**fields, at=now - float(message["age_s"]))


class Verdict(NamedTuple):
    """How every launcher of the gang ends. `line`: the last line that it prints; `hopeless`: another try would fail."""

    code: int
    line: str
    hopeless: bool = False


WELL = Verdict(0, "")


def decide_at(failures: Collection[Failure], running: int, first_known_at: float) -> float:
    """When to decide, by the clock of `first_known_at`. `running`: how many ranks still run."""
    only_echoes = all(one.is_echo for one in failures)
    return first_known_at + (ECHO_S if only_echoes and running else SETTLE_S)


def verdict(failures: Iterable[Failure]) -> Verdict:
    """The verdict by the first failure that is not an echo, or by the first of all when every failure is one."""
    first = min(failures, key=lambda one: (one.is_echo, one.at))
    return Verdict(1 if first.code == LOST else first.code, sentence(first), first.hopeless)


def sentence(failure: Failure) -> str:
    if failure.code == LOST:
        return f"ERROR: {failure.who} on {failure.where} {failure.words}"
    words = f": {failure.words}" if failure.words else ""
    return f"ERROR: {failure.who} on {failure.where} ended with exit code {failure.code}{_signal(failure.code)}{words}"


def _signal(code: int) -> str:
    try:
        return f" ({signal.Signals(code - 128).name})"
    except ValueError:
        return ""


class LastError:
    """The last thing a program printed on stderr: the error that a traceback ends in, else the last line with text."""

    def __init__(self) -> None:
        self._error = self._last = ""
        self._since: float | None = None
        self._inside = False

    def read(self, line: str, now: float) -> None:
        line = _TORCHS_PREFIX.sub("", line.rstrip())
        if line.startswith("Traceback (most recent call last)"):
            self._inside, self._since, self._error = True, now, ""
        elif self._inside and line and not line[0].isspace():
            self._inside, self._error = False, line
        if line.strip():
            self._last = line.strip()

    def at_end(self, now: float) -> tuple[str, float]:
        """The text, and when the end began: at the traceback, unless that is so old that the program had recovered."""
        if self._since is not None and now - self._since < GOT_OVER_S:
            return self._error[:WORDS_MAX], self._since
        return self._last[:WORDS_MAX], now
