"""The process beside each task: it outlives the agent, keeps the task's output, and writes down how it ended.

    python -I -S shim.py FOLDER LOCK_FD GRACE_S COMMAND…

The command runs in a session of its own, with this process's environment and working directory. Each line it prints
becomes a line of FOLDER/log: the instant, `o` or `e` for stdout or stderr, and the text. Its end becomes FOLDER/exit.
While the disk is full, nothing more is read from the task, so that its prints wait; after HOLD_S seconds in all, lines
are dropped and counted, and the log says how many as soon as it can.
The lock that arrives as LOCK_FD is held for as long as this process lives; no other sign of life is needed, and no
process id, which another process may have one day.

    SIGTERM                      ask the task to end; after GRACE_S seconds kill all of it
    SIGABRT                      kill all of it now
    SIGINT, HUP, USR1, USR2      passed on

Standard library only, and little of it: this starts with every task.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable

LINE_BYTES_MAX = 64 * 1024
READ_BYTES = 64 * 1024
EXIT_BYTES = 64
DRAIN_S = 2.0
"""How long to read on after every process of the task is gone, should something else hold its output open."""

HOLD_S = 120.0
"""How long a full disk may slow the task down, in all, before lines are dropped: training must not wait for ever."""
END_HOLD_S = 20.0
"""How long the last lines of a task that has ended wait for a full disk."""
RETRY_S = 0.1

PASSED_ON = (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def program() -> list[str]:
    """How it is started: by the interpreter of whoever starts it."""
    return [sys.executable, "-I", "-S", __file__]


def main(arguments: list[str]) -> int:
    folder, lock_fd, grace_s, *command = arguments
    os.set_inheritable(int(lock_fd), False)
    Shim(folder, float(grace_s), lambda out, err: execute(command, out, err)).run()
    return 0


class Shim:
    """`become` is the task's side of the fork: it turns the new process into the task and does not return."""

    line_bytes_max = LINE_BYTES_MAX
    drained_at: float | None = None
    drop_at: float | None = None
    grace_ends_at: float | None = None
    orphans_asked = False

    def __init__(self, folder: str, grace_s: float, become: Callable[[int, int], None]) -> None:
        self.folder, self.grace_s, self.become = folder, grace_s, become
        self.output = Output(os.open(f"{folder}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), HOLD_S)
        # Room for the exit code is taken now, so that a disk full by then cannot keep it from being told.
        self.exit = os.open(f"{folder}/exit.new", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.posix_fallocate(self.exit, 0, EXIT_BYTES)
        self.status: int | None = None
        self.kill_at: float | None = None

    def run(self) -> None:
        # Grandchildren whose parent ends come to this process, so that none of the task can slip away.
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGABRT, signal.SIGCHLD, *PASSED_ON):
            signal.signal(number, _noted)
        (out_read, out_write), (err_read, err_write) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
        self.child = os.fork()
        if self.child == 0:
            self.become(out_write, err_write)
        os.close(out_write)
        os.close(err_write)
        self._write_pids()
        self._watch(woken, {out_read: Lines(b"o", self.line_bytes_max), err_read: Lines(b"e", self.line_bytes_max)})
        self._write_exit()

    def _watch(self, woken: int, outputs: dict[int, Lines]) -> None:
        """Until the command is gone, and everything it started, and all that was printed is kept."""
        poll = select.poll()
        poll.register(woken, select.POLLIN)
        listening = False
        while self.status is None or outputs or self._may_still_end():
            if listening == self.output.is_full:
                listening = not listening
                for fd in outputs:
                    poll.register(fd, select.POLLIN) if listening else poll.unregister(fd)
            for fd, _ in poll.poll(self._pause_ms()):
                if fd == woken:
                    self._handle_signals(os.read(woken, 4096))
                elif not self._keep(fd, outputs[fd]):
                    poll.unregister(fd)
                    self._append(outputs.pop(fd).rest())
            self.output.retry()
            if self.kill_at is not None and time.monotonic() >= self.kill_at:
                self._kill_all()
            if self.status is not None and not self._may_still_end() and self._is_drained():
                break
        for lines in outputs.values():
            self._append(lines.rest())
        self.output.stop_holding()
        while self._kill_all():
            time.sleep(0.005)

    def _may_still_end(self) -> bool:
        """Whether something is left that was asked to end and has time for it: a shell ends at once, while the program
        that it ran may be storing a checkpoint."""
        if self.grace_ends_at is None or time.monotonic() >= self.grace_ends_at or not self._reap():
            return False
        if self.status is not None and not self.orphans_asked:
            self.orphans_asked = True
            self._ask_orphans()
        return True

    def _ask_orphans(self) -> None:
        """SIGTERM to what the command left behind in sessions or groups of its own: the group's signal missed it."""
        me = os.getpid()
        for name in os.listdir("/proc"):
            if name.isdigit() and _parent(name) == me:
                try:
                    if os.getpgid(int(name)) != self.child:
                        os.kill(int(name), signal.SIGTERM)
                except (ProcessLookupError, PermissionError):
                    continue

    def _is_drained(self) -> bool:
        """Whether, after the command's end, no more output is waited for. For a full disk it is waited longer."""
        self._kill_all()
        now = time.monotonic()
        if self.output.is_full:
            self.drop_at = self.drop_at or now + END_HOLD_S
            if now > self.drop_at:
                self.output.stop_holding()
            return False
        self.drained_at = self.drained_at or now + DRAIN_S
        return now > self.drained_at

    def _pause_ms(self) -> float | None:
        if self.status is not None:
            return 20
        if self.output.is_behind:
            return RETRY_S * 1000
        if self.kill_at is not None:
            return max(0.0, self.kill_at - time.monotonic()) * 1000 + 1
        return None

    def _keep(self, fd: int, lines: Lines) -> bool:
        data = os.read(fd, READ_BYTES)
        if data:
            self._append(lines.split(data))
        return bool(data)

    def _append(self, record: bytes) -> None:
        if record:
            self.output.write(record)

    def _handle_signals(self, numbers: bytes) -> None:
        for number in numbers:
            if number == signal.SIGTERM:
                self._signal_group(signal.SIGTERM)
                self.kill_at = self.kill_at or time.monotonic() + self.grace_s
                self.grace_ends_at = self.grace_ends_at or self.kill_at
            elif number == signal.SIGABRT:
                self.grace_ends_at = time.monotonic()
                self._kill_all()
            elif number == signal.SIGCHLD:
                self._reap()
            else:
                self._signal_group(number)

    def _reap(self) -> bool:
        """Whether anything is left: without children there are no grandchildren either."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                self.status = status

    def _signal_group(self, number: int) -> None:
        if self.status is None:
            try:
                os.killpg(self.child, number)
            except ProcessLookupError:
                # Between fork and setsid there is no such group yet.
                os.kill(self.child, number)

    def _kill_all(self) -> bool:
        """Whether anything was left to kill; it may take another round, for what was being forked meanwhile."""
        if not self._reap():
            return False
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.kill_at = time.monotonic() + 0.02
        return True

    def _write_pids(self) -> None:
        """Whoever sees the file sees all of it."""
        fd = os.open(f"{self.folder}/pid.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(fd, b"%d %d" % (os.getpid(), self.child))
        os.close(fd)
        os.rename(f"{self.folder}/pid.new", f"{self.folder}/pid")

    def _write_exit(self) -> None:
        ending = b"%d %.6f" % (self.exit_code(), time.time()) + self.output.unsaid()
        os.pwrite(self.exit, ending.ljust(EXIT_BYTES), 0)
        os.rename(f"{self.folder}/exit.new", f"{self.folder}/exit")

    def exit_code(self) -> int:
        """As shells have it: 128 + n for a signal n."""
        assert self.status is not None
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else 128 - code


class Output:
    """The file of records, on a disk that may be full."""

    def __init__(self, fd: int, hold_s: float) -> None:
        self.fd, self.hold_s = fd, hold_s
        self.held = b""
        self.torn = False  # whether the file ends in the midst of a record
        self.full_since: float | None = None  # on the monotonic clock
        self.lost = 0
        self.lost_from = self.lost_to = 0.0
        self.retry_at = 0.0

    @property
    def is_full(self) -> bool:
        """Whether records wait for room on the disk: nothing more should be read meanwhile."""
        return bool(self.held)

    @property
    def is_behind(self) -> bool:
        """Whether `retry` has something to do."""
        return bool(self.held or self.lost)

    def write(self, records: bytes) -> None:
        if self.lost and not self._admit():
            self._drop(records)
            return
        self.held += records
        self._flush()

    def retry(self) -> None:
        """To be called now and then. The time during which the disk was full is paid out of `hold_s`."""
        if not self.is_behind or time.monotonic() < self.retry_at:
            return
        self.retry_at = time.monotonic() + RETRY_S
        if self.lost:
            self._admit()
        else:
            self._flush()

    def stop_holding(self) -> None:
        """Drop what waits, and wait for nothing any more."""
        self.hold_s = 0.0
        self._flush()

    def unsaid(self) -> bytes:
        """For the file of the exit code: how many lines were lost, from when to when, if the log could not say it."""
        if not self.lost or self._admit():
            return b""
        return b" %d %.0f %.0f" % (self.lost, self.lost_from, self.lost_to)

    def _flush(self) -> None:
        self.held = self._written(self.held)
        now = time.monotonic()
        if not self.held:
            if self.full_since is not None:
                self.hold_s, self.full_since = self.hold_s - (now - self.full_since), None
            return
        self.full_since = self.full_since or now
        if now - self.full_since >= self.hold_s:
            self.hold_s, self.full_since = 0.0, None
            held, self.held = self.held, b""
            self._drop(held)

    def _written(self, data: bytes) -> bytes:
        """What is left of `data`, after as much as fits was written."""
        try:
            while data:
                count = os.write(self.fd, data)
                self.torn = data[count - 1 : count] != b"\n"
                data = data[count:]
        except OSError:
            return data
        return b""

    def _drop(self, records: bytes) -> None:
        now = time.time()
        self.lost_from = self.lost_from if self.lost else now
        self.lost, self.lost_to = self.lost + records.count(b"\n"), now

    def _admit(self) -> bool:
        """Say how many lines were lost, if there is room for it."""
        note = b"%.6f e %s\n" % (time.time(), lost_lines(self.lost, self.lost_from, self.lost_to).encode())
        left = self._written(b"\n" + note if self.torn else note)
        if left:
            return False
        self.lost = 0
        return True


def lost_lines(count: int, first: float, last: float) -> str:
    """What the log says of lines that were lost."""
    at, until = (time.strftime("%H:%M:%S", time.gmtime(moment)) for moment in (first, last))
    return f"WARNING: {count} lines that were printed from {at} to {until} UTC are lost: the disk of this host was full"


class Lines:
    """Bytes of one output, cut into records. A carriage return ends a line too, as progress bars draw them.

    A line of more than `most` bytes becomes several, none of which ends within a character.
    """

    def __init__(self, kind: bytes, most: int = LINE_BYTES_MAX) -> None:
        self.kind, self.most = kind, most
        self.held = b""

    def split(self, data: bytes) -> bytes:
        text = self.held + data
        # A return at the very end may be the first half of one line's end: it waits for what follows.
        text, carry = (text[:-1], b"\r") if text.endswith(b"\r") else (text, b"")
        *lines, last = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        *pieces, last = self._pieces(last)
        lines += pieces
        self.held = last + carry
        return self._records(lines)

    def rest(self) -> bytes:
        held, self.held = self.held.removesuffix(b"\r"), b""
        return self._records([held]) if held else b""

    def _records(self, lines: list[bytes]) -> bytes:
        stamp = b"%.6f %s " % (time.time(), self.kind)
        return b"".join(stamp + piece + b"\n" for line in lines for piece in self._pieces(line))

    def _pieces(self, line: bytes) -> list[bytes]:
        pieces = []
        while len(line) > self.most:
            end = self.most
            while end > self.most - 3 and line[end] & 0xC0 == 0x80:  # the next byte goes on with a character
                end -= 1
            pieces.append(line[:end])
            line = line[end:]
        return [*pieces, line]


def descendants(ancestor: int) -> list[int]:
    """Every process that has `ancestor` above it."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (parent := _parent(name)) is not None:
            children.setdefault(parent, []).append(int(name))
    found = children.get(ancestor, [])
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def _parent(pid: str) -> int | None:
    """None for one that is gone, or dead and only waits to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            state, parent = stat.read().rpartition(b") ")[2].split(b" ", 2)[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == b"Z" else int(parent)


def settle(out: int, err: int) -> None:
    """The new process in a session of its own, with the task's outputs, and nothing left of its parent's signals."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGABRT, signal.SIGCHLD, signal.SIGPIPE, *PASSED_ON):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)


def execute(command: list[str], out: int, err: int) -> None:
    """Never returns."""
    try:
        settle(out, err)
        os.execvp(command[0], command)
    except OSError as problem:
        os.write(2, f"ERROR: cannot run {command[0]}: {problem.strerror}\n".encode())
    finally:
        os._exit(127)


def _noted(number: int, frame: object) -> None:
    """The wake-up descriptor carries the signal; without a handler there would be none."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
