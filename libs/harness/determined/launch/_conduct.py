"""Runs the workers of a gang from their start to their end: all of them end well, or all are ended at once.

Every launcher reports to the chief's launcher how its ranks end. The chief decides on a verdict and sends it to all
others, so that each ends with the same code and the same last line. A launcher that loses the chief decides for itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from determined.launch._gang import Gang
from determined.launch._gang_link import BEAT_S, SILENCE_S, Link, LinkClosed
from determined.launch._verdict import LOST, WELL, Failure, Verdict, decide_at, failure_of, verdict
from determined.launch._workers import Worker, Workers

ASKED_TO_END = 128 + signal.SIGTERM
STOP_S = 20.0
"""How long ranks may take to end after the cluster has stopped the task. The agent kills the task before that."""


class Case:
    """The reports that the chief has of its gang, and the verdict that follows from them. Times are of `monotonic`."""

    def __init__(self, containers: int) -> None:
        self._containers = containers
        self._running: dict[int, int] = {}
        self._failures: list[Failure] = []
        self._first_heard_at: float | None = None
        self._done: set[int] = set()
        self._stopped_by = ""

    def failed(self, failure: Failure, now: float) -> None:
        self._failures.append(failure)
        if self._first_heard_at is None:
            self._first_heard_at = now

    def running(self, container: int, ranks: int) -> None:
        """`ranks`: how many ranks of the container have begun and not ended."""
        self._running[container] = ranks

    def done(self, container: int) -> None:
        """All ranks of the container have ended well."""
        self._done.add(container)

    def lost(self, container: int, place: str, why: str, now: float) -> None:
        if container not in self._done:
            self.failed(Failure(f"container {container}", place, LOST, why, now), now)

    def stopped(self, place: str) -> None:
        self._stopped_by = self._stopped_by or place

    def verdict(self, now: float) -> Verdict | None:
        """The verdict; None while it is open."""
        if self._stopped_by and any(not one.is_echo for one in self._failures):
            return verdict(self._failures)  # the cluster stops the others because of that failure
        if self._stopped_by:
            return Verdict(ASKED_TO_END, f"INFO: the workers end, as the launcher on {self._stopped_by} was asked to")
        if self._first_heard_at is not None:
            return verdict(self._failures) if self.look_again_s(now) == 0 else None
        return WELL if len(self._done) == self._containers else None

    def look_again_s(self, now: float) -> float:
        if self._first_heard_at is None:
            return BEAT_S
        return max(0.0, decide_at(self._failures, sum(self._running.values()), self._first_heard_at) - now)


class Chief:
    """The chief's part: receives the reports of all launchers, and decides how the gang ends."""

    def __init__(self, gang: Gang) -> None:
        self._gang = gang
        self._case = Case(len(gang.places))
        self._links = dict(gang.links)
        for container, link in self._links.items():
            link.heard_at = time.monotonic()  # beats are sent only from now on
            for message in link.left_over():
                self._note(container, message, time.monotonic())

    def sources(self) -> Sequence[Link]:
        return list(self._links.values())

    def receive(self, ready: Iterable[Link], now: float) -> None:
        ready = set(ready)
        for container, link in [(c, one) for c, one in self._links.items() if one in ready]:
            try:
                for message in link.receive():
                    self._note(container, message, now)
            except LinkClosed:
                self._lose(container, "is gone: its launcher has ended without a word", now)

    def _note(self, container: int, message: dict[str, Any], now: float) -> None:
        match message:
            case {"kind": "failed", "failure": failure}:
                self._case.failed(failure_of(failure, now), now)
            case {"kind": "running", "ranks": ranks}:
                self._case.running(container, int(ranks))
            case {"kind": "done"}:
                self._case.done(container)
            case {"kind": "stopped"}:
                self._case.stopped(self._gang.places[container].name)

    def beat(self, now: float) -> None:
        for container, link in list(self._links.items()):
            try:
                link.send({"kind": "beat"})
            except LinkClosed as problem:
                self._lose(container, f"is gone: {problem}", now)
            else:
                if now - link.heard_at > SILENCE_S:
                    why = f"has not been heard of for {SILENCE_S:.0f} s: its host is gone, or the network between"
                    self._lose(container, why, now)

    def _lose(self, container: int, why: str, now: float) -> None:
        self._links.pop(container).close()
        self._case.lost(container, str(self._gang.places[container]), why, now)

    def failed(self, failure: Failure, now: float) -> None:
        self._case.failed(failure, now)

    def running(self, ranks: int, now: float) -> None:
        self._case.running(0, ranks)

    def done(self) -> None:
        self._case.done(0)

    def stopped(self) -> None:
        self._case.stopped(self._gang.here.name)

    def look_again_s(self, now: float) -> float:
        return self._case.look_again_s(now)

    def verdict(self, now: float) -> Verdict | None:
        found = self._case.verdict(now)
        if found is not None:
            for link in self._links.values():
                with contextlib.suppress(LinkClosed):  # a launcher that is gone needs no verdict
                    link.send({"kind": "verdict", "verdict": found})
        return found


class Member:
    """The part of the other launchers: reports to the chief, and does what the chief decides."""

    def __init__(self, gang: Gang) -> None:
        self._gang = gang
        self._link = gang.links[0]
        self._failures: list[Failure] = []
        self._verdict: Verdict | None = None
        self._link.heard_at = time.monotonic()
        self._note(self._link.left_over())

    def sources(self) -> Sequence[Link]:
        return [self._link]

    def receive(self, ready: Iterable[Link], now: float) -> None:
        if self._link in set(ready):
            try:
                self._note(self._link.receive())
            except LinkClosed:
                self._lose("is gone: its launcher has ended without a word", now)

    def _note(self, messages: Iterable[dict[str, Any]]) -> None:
        for message in messages:
            if message["kind"] == "verdict":
                self._verdict = Verdict(*message["verdict"])

    def _send(self, message: dict[str, Any], now: float) -> None:
        try:
            self._link.send(message)
        except LinkClosed as problem:
            self._lose(f"is gone: {problem}", now)

    def _lose(self, why: str, now: float) -> None:
        self._failures.append(Failure("container 0", str(self._gang.places[0]), LOST, why, now))
        self._verdict = self._verdict or verdict(self._failures)

    def beat(self, now: float) -> None:
        self._send({"kind": "beat"}, now)
        if now - self._link.heard_at > SILENCE_S:
            self._lose(f"has not been heard of for {SILENCE_S:.0f} s: its host is gone, or the network between", now)

    def failed(self, failure: Failure, now: float) -> None:
        self._failures.append(failure)
        self._send({"kind": "failed", "failure": failure.as_message(now)}, now)

    def running(self, ranks: int, now: float) -> None:
        self._send({"kind": "running", "ranks": ranks}, now)

    def done(self) -> None:
        self._send({"kind": "done"}, time.monotonic())

    def stopped(self) -> None:
        self._send({"kind": "stopped"}, time.monotonic())
        if not any(not one.is_echo for one in self._failures):  # otherwise the chief sends the verdict
            line = "INFO: the workers end, as this launcher was asked to"
            self._verdict = self._verdict or Verdict(ASKED_TO_END, line)

    def look_again_s(self, now: float) -> float:
        return BEAT_S

    def verdict(self, now: float) -> Verdict | None:
        return self._verdict


def conduct(gang: Gang, workers: Iterable[Worker]) -> Verdict:
    """Starts this container's workers, and returns the verdict when none of them is left."""
    crew = Workers(gang.here.name)
    role = Chief(gang) if gang.is_chief else Member(gang)
    with _signals() as asked:
        crew.start(workers)
        found = _watch(crew, role, asked)
        if found.code == ASKED_TO_END:
            crew.stop(STOP_S)
        crew.end()
    sys.stdout.flush()
    return found


def _watch(crew: Workers, role: Chief | Member, asked: int) -> Verdict:
    done = stopped = False
    reported = running = 0
    beat_at = 0.0
    while (found := role.verdict(time.monotonic())) is None:
        links = role.sources()
        wait_s = min(BEAT_S, role.look_again_s(time.monotonic()))
        sources: list[int | Link] = [asked, *links, *crew.sources()]
        ready = select.select(sources, [], [], wait_s)[0]
        crew.receive(one for one in ready if isinstance(one, int))
        now = time.monotonic()
        role.receive((one for one in ready if isinstance(one, Link)), now)
        for failure in crew.failures[reported:]:
            role.failed(failure, now)
        reported = len(crew.failures)
        if crew.running != running:  # after the failures: once no rank runs, the verdict may be decided
            running = crew.running
            role.running(running, now)
        if crew.over and not done and not reported:
            done = True
            role.done()
        if asked in ready and not stopped:
            stopped = True
            role.stopped()
        if now >= beat_at:
            beat_at = now + BEAT_S
            role.beat(now)
    return found


@contextmanager
def _signals() -> Iterator[int]:
    """A descriptor that becomes readable when this process is asked to end."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    handlers = [signal.signal(number, lambda *_: None) for number in numbers]
    try:
        yield reader
    finally:
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
