"""Runs a program, and tells the cluster when it says that it serves people: `until_ready PATTERN -- WORDS…`.

What the program prints is passed on unchanged and at once. A line that the pattern matches, from its beginning, is what
readiness is known by: Jupyter, sshd and TensorBoard each print one. The exit status is the program's.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import BinaryIO

from determined import _info
from determined.common.api import Session, errors
from determined.common.api._session import segment

AGAIN_S = 5.0
"""The pause after a report that did not arrive."""
CHUNK = 65_536
LINE_MOST = 8_192
"""The bytes of a line that the pattern is held against: a longer line is passed on whole, and looked at so far."""


def run(words: Sequence[str], pattern: str, ready: Callable[[], None]) -> int:
    """Returns the exit status, 128 and the signal's number for a program that a signal ended. Calls `ready` once, on a
    thread of its own. Raises OSError when the program cannot be started."""
    said = _Once(ready)
    # Whoever stops the task signals its whole group: the program ends, and then this process does.
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: None)
    program = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert program.stdout is not None
    assert program.stderr is not None
    matcher = re.compile(pattern.encode())
    pumps = [
        threading.Thread(target=_pass_on, args=(source, target, matcher, said), daemon=True)
        for source, target in ((program.stdout, sys.stdout.buffer), (program.stderr, sys.stderr.buffer))
    ]
    for pump in pumps:
        pump.start()
    code = program.wait()
    for pump in pumps:  # not longer: what the program left running may hold its output open
        pump.join(1.0)
    return code if code >= 0 else 128 - code


class _Once:
    def __init__(self, ready: Callable[[], None]) -> None:
        self._ready, self._lock, self.done = ready, threading.Lock(), False

    def __call__(self) -> None:
        with self._lock:
            if self.done:
                return
            self.done = True
        threading.Thread(target=self._ready, daemon=True).start()


def _pass_on(source: BinaryIO, target: BinaryIO, pattern: re.Pattern[bytes], said: _Once) -> None:
    line = b""
    while chunk := os.read(source.fileno(), CHUNK):
        target.write(chunk)
        target.flush()
        if said.done:
            continue
        *whole, line = (line + chunk).split(b"\n")
        if any(pattern.match(one[:LINE_MOST]) for one in whole):
            said()
        line = line[:LINE_MOST]


def report(info: _info.ClusterInfo) -> None:
    """Says that the task is ready, again and again until the cluster hears it or refuses it."""
    session = Session(
        info.master_url, info.session_token, cert_file=info.master_cert_file, cert_name=info.master_cert_name
    )
    path = f"/api/v1/allocations/{segment(info.allocation_id)}/ready"
    while True:
        try:
            session.post(path, {"allocationId": info.allocation_id})
            return
        except (errors.BadRequestException, errors.BadResponseException) as problem:
            if not _may_pass(problem):
                print(f"WARNING: the cluster does not take it that this task is ready: {problem}", file=sys.stderr)
                return
        time.sleep(AGAIN_S)


def _may_pass(problem: Exception) -> bool:
    """Whether the same report may be taken later."""
    if isinstance(problem, errors.APIException):
        return problem.status_code >= 500
    return isinstance(problem, (errors.MasterNotFoundException, errors.BadResponseException))


def main(arguments: Sequence[str]) -> int:
    if len(arguments) < 3 or arguments[1] != "--":
        print("usage: python -m determined.exec.until_ready PATTERN -- WORDS…", file=sys.stderr)
        return 2
    info = _info.read_cluster_info(os.environ)
    ready = (lambda: report(info)) if info is not None else (lambda: None)
    words = arguments[2:]
    try:
        return run(words, arguments[0], ready)
    except OSError as problem:
        print(f"ERROR: cannot run {words[0]!r}: {problem.strerror}", file=sys.stderr)
        return 127 if isinstance(problem, FileNotFoundError) else 126


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
