"""A container's output, copied to a file as it comes.

The Docker daemon keeps what a container prints; a thread for each task copies it, going on where an earlier one
stopped. So the file is always the beginning of what the daemon has, even after the agent or the daemon was killed.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import structlog

from resolute.agent import container_shim, spool
from resolute.agent.docker_engine import Away, Engine, State

log_ = structlog.get_logger()

LOOK_AGAIN_S = 0.01
PAUSE_S_MIN, PAUSE_S_MAX = 0.05, 2.0
"""Between tries to reach a daemon that is away."""

T = TypeVar("T")


def follow(engine: Engine, name: str, log: Path) -> State | None:
    """Copies the container's output to `log` until the container has ended and all of it is copied. Returns the last
    state of the container; None when the container is gone."""
    pause_s = LOOK_AGAIN_S
    while True:
        try:
            state = patiently(lambda: engine.state(name))
            end_is_recorded = spool.end(log) is not None
            if state is None or not state.begun or (state.ended and end_is_recorded):
                return state
            if end_is_recorded:
                engine.kill(name, container_shim.END_KNOWN.name)  # lets the shim end
                pause_s = min(pause_s * 2, PAUSE_S_MAX)  # a task can print an end record itself, and go on running
            else:
                _copy(engine, name, log, follow=not state.ended)
        except Exception as problem:  # noqa: BLE001  (a full disk, a failing daemon: a later try may succeed)
            log_.warning("the output of a container cannot be read", container=name, why=repr(problem))
            time.sleep(PAUSE_S_MAX / 2)
            continue
        if state.ended:
            return state
        time.sleep(pause_s)


def _copy(engine: Engine, name: str, log: Path, follow: bool) -> None:
    """Copies the part of the container's output that the file does not have. The file is always a beginning of it."""
    with log.open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # a second follower waits here, and then finds nothing left to copy
        there = file.seek(0, os.SEEK_END)
        may_be_the_end = there > 0  # the file may have half a record
        for piece in engine.output(name, follow):
            new = piece[there:]
            there = max(0, there - len(piece))
            may_be_the_end = may_be_the_end or b" x " in new
            while new:
                new = new[file.write(new) :]
            if there == 0 and may_be_the_end:
                if spool.end(log) is not None:
                    return
                may_be_the_end = False


def patiently(ask: Callable[[], T]) -> T:
    """Returns the result of `ask`, which is called again, without a limit, while the daemon is away."""
    pause_s = PAUSE_S_MIN
    while True:
        try:
            return ask()
        except Away as away:
            log_.warning("waiting", who="docker", why=str(away), pause_s=pause_s)
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, PAUSE_S_MAX)
