"""The parent of an embedded cluster's processes: starts them, starts again those that die, and stops all at the end.

`python -m resolute.deploy.supervisor <plan> <status> <lock>`. SIGTERM stops everything, SIGHUP reads the plan again:
what is new in it is started, what is gone from it stopped. It sleeps until a child ends or a signal comes.

It is small and imports very little, because it is the only process that is not started again when it dies.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from resolute.deploy import plan
from resolute.deploy.plan import Child

STABLE_S = 10.0
"""Having run for this long, an end is a new story and not one more failure."""
LOG_BYTES_MAX = 20 * 1024 * 1024
"""A log longer than this when its process starts is put aside, one of each."""


@dataclass
class Running:
    """One child's life so far."""

    child: Child
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float | None = 0.0
    """When to start it next, on the monotonic clock; None while it runs, or when it is to stay down."""
    failures: int = 0
    starts: int = 0
    exit_code: int | None = None

    def start(self) -> None:
        _remove_stale(self.child)
        with _open_log(self.child.log) as log:
            self.process = subprocess.Popen(
                self.child.argv,
                env=self.child.env,
                cwd=self.child.cwd,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=self.child.user,
                group=self.child.user,
                extra_groups=[] if self.child.user else None,
            )
        self.started_at, self.start_at = time.monotonic(), None
        self.starts += 1

    def notice_end(self, now: float) -> bool:
        """Whether the process has ended since last asked."""
        if self.process is None or (code := self.process.poll()) is None:
            return False
        self.process, self.exit_code = None, code
        self.failures = 1 if now - self.started_at > STABLE_S else self.failures + 1
        self.start_at = now + plan.backoff_s(self.failures) if self.child.restart else None
        return True

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.send_signal(self.child.stop_signal)
        try:
            self.process.wait(self.child.stop_s)
        except subprocess.TimeoutExpired:
            say(f"{self.child.name} did not stop within {self.child.stop_s:g} s and is killed")
            self.process.kill()
            self.process.wait()
        self.process = None


class Supervisor:
    def __init__(self, plan_file: Path, status_file: Path) -> None:
        self._plan_file, self._status_file = plan_file, status_file
        self._running: dict[str, Running] = {}
        self._stopping = self._reload = False

    def run(self) -> None:
        awake = self._hear_signals()
        self._read_plan()
        while not self._stopping:
            if self._reload:
                self._reload = False
                self._read_plan()
                self._tell()
            self._look_after_all()
            self._sleep(awake)
        self._stop(reversed(list(self._running.values())))
        self._status_file.unlink(missing_ok=True)

    def _hear_signals(self) -> socket.socket:
        """Signals end the sleep: their numbers arrive on a socket."""
        awake, waker = socket.socketpair()
        awake.setblocking(False)
        waker.setblocking(False)
        signal.set_wakeup_fd(waker.detach(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, self._on_stop)
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_reload)
        return awake

    def _on_stop(self, *_: object) -> None:
        self._stopping = True

    def _on_reload(self, *_: object) -> None:
        self._reload = True

    def _read_plan(self) -> None:
        wanted = {child.name: child for child in plan.load(self._plan_file)}
        self._stop([running for name, running in self._running.items() if name not in wanted])
        self._running = {name: self._running.get(name) or Running(child) for name, child in wanted.items()}

    def _look_after_all(self) -> None:
        now, changed = time.monotonic(), False
        for running in self._running.values():
            if running.notice_end(now):
                changed = True
                say(f"{running.child.name} ended with {_told(running.exit_code)}, after {running.starts} starts")
            if running.start_at is not None and running.start_at <= now:
                changed = True
                self._start(running)
        if changed:
            self._tell()

    def _start(self, running: Running) -> None:
        try:
            running.start()
        except OSError as error:
            running.failures += 1
            running.start_at = time.monotonic() + plan.backoff_s(running.failures)
            say(f"{running.child.name} cannot be started: {error}")
        else:
            say(f"{running.child.name} started, pid {running.process.pid if running.process else '?'}")

    def _sleep(self, awake: socket.socket) -> None:
        due = [running.start_at for running in self._running.values() if running.start_at is not None]
        timeout = max(0.0, min(due) - time.monotonic()) if due else None
        if select.select([awake], [], [], timeout)[0]:
            awake.recv(4096)

    def _stop(self, doomed: Iterable[Running]) -> None:
        for running in doomed:
            say(f"stopping {running.child.name}")
            running.stop()

    def _tell(self) -> None:
        """Writes which processes run, for `cluster-up` while it waits, and for the next supervisor if this one is
        killed."""
        statuses = {
            name: {
                "pid": running.process.pid if running.process else None,
                "argv": running.child.argv,
                "stop_signal": running.child.stop_signal,
                "starts": running.starts,
                "failures": running.failures,
                "exit_code": running.exit_code,
            }
            for name, running in self._running.items()
        }
        beside = self._status_file.with_suffix(".new")
        try:
            beside.write_text(json.dumps({"supervisor": os.getpid(), "children": statuses}, indent=1))
            beside.replace(self._status_file)
        except OSError as error:
            say(f"cannot write {self._status_file}: {error}")


def say(text: str) -> None:
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), text, flush=True)


def _told(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def _open_log(file: str) -> BinaryIO:
    path = Path(file)
    if path.is_file() and path.stat().st_size > LOG_BYTES_MAX:
        path.replace(path.with_name(f"{path.name}.1"))
    return path.open("ab")


def _remove_stale(child: Child) -> None:
    """Postgres refuses to start while the process named in its pid file lives; the number may be anyone's by now."""
    if child.stale_pid_file is None:
        return
    file = Path(child.stale_pid_file)
    try:
        pid = int(file.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return
    if child.argv[0] not in _command_of(pid):
        file.unlink(missing_ok=True)


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        shown = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return shown.stdout


def main(plan_file: str, status_file: str, lock_file: str) -> int:
    with open(lock_file, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another supervisor holds {lock_file}")
            return 1
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        say(f"supervisor started, pid {os.getpid()}")
        Supervisor(Path(plan_file), Path(status_file)).run()
        say("supervisor stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
