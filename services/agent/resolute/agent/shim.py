"""The shim: a process that starts one task, outlives the agent, keeps the task's output, and writes its exit code down.

    python -I -S shim.py FOLDER LOCK_FD GRACE_S COMMAND…

The command runs in a session of its own, with this process's environment and working directory. Each line it prints
becomes a line of FOLDER/log: the instant, `o` or `e` for stdout or stderr, and the text. Its end becomes FOLDER/exit.
While the disk is full, nothing is read from the task, so that it waits when it prints. After HOLD_S seconds in all,
lines are dropped and counted, and the log gets a line with their number as soon as there is room. The lock on LOCK_FD
is held as long as this process lives, and shows that it does. A process id would not: the kernel may give it to another
process later.

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
"""How long output is still read after every process of the task is gone, when another process holds it open."""

HOLD_S = 120.0
"""How long the task may wait for a full disk, in all, before lines are dropped: training must not wait for ever."""
END_HOLD_S = 20.0
"""How long the last lines of a task that has ended wait for a full disk."""
RETRY_S = 0.1

PASSED_ON = (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def program() -> list[str]:
    """The command of the shim, up to its arguments, with the interpreter of this process."""
    return [sys.executable, "-I", "-S", __file__]


def main(arguments: list[str]) -> int:
    folder, lock_fd, grace_s, *command = arguments
    os.set_inheritable(int(lock_fd), False)
    Shim(folder, float(grace_s), lambda out, err: execute(command, out, err)).run()
    return 0


class Shim:
    """Runs one task, and keeps its output and exit code in `folder`. `become` is called in the forked process: it turns
    that process into the task, and does not return."""

    line_bytes_max = LINE_BYTES_MAX
    drained_at: float | None = None
    drop_at: float | None = None
    grace_ends_at: float | None = None
    orphans_asked = False

    def __init__(self, folder: str, grace_s: float, become: Callable[[int, int], None]) -> None:
        self.folder, self.grace_s, self.become = folder, grace_s, become
        self.output = Output(os.open(f"{folder}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), HOLD_S)
        # Space for the exit code is allocated now, so that it can be written even if the disk is full at the end.
        self.exit = os.open(f"{folder}/exit.new", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.posix_fallocate(self.exit, 0, EXIT_BYTES)
        self.status: int | None = None
        self.kill_at: float | None = None

    def run(self) -> None:
        # Orphaned descendants become children of this process, so that all processes of the task can be found
        # (prctl(2)).
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
        """Returns when the command and all its descendants have ended, and their output is in the file."""
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
        """Whether a process of the task is left that was asked to end and still has time to. A shell ends at once,
        while the program that it ran may be storing a checkpoint."""
        if self.grace_ends_at is None or time.monotonic() >= self.grace_ends_at or not self._reap():
            return False
        if self.status is not None and not self.orphans_asked:
            self.orphans_asked = True
            self._ask_orphans()
        return True

    def _ask_orphans(self) -> None:
        """Sends SIGTERM to processes that the command left behind in process groups of their own, which the signal to
        the command's group has not reached."""
        me = os.getpid()
        for name in os.listdir("/proc"):
            if name.isdigit() and _parent(name) == me:
                try:
                    if os.getpgid(int(name)) != self.child:
                        os.kill(int(name), signal.SIGTERM)
                except (ProcessLookupError, PermissionError):
                    continue

    def _is_drained(self) -> bool:
        """Whether to stop waiting for output after the command's end: after DRAIN_S, or END_HOLD_S when the disk is
        full."""
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
        """Reaps children that have ended. Returns whether there are others; without children there are no
        descendants."""
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
        """Kills all descendants. Returns whether there were any: a process may have forked meanwhile, so the caller
        repeats this until there are none."""
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
        """Writes the process ids of the shim and the task. The file is renamed when it is complete."""
        fd = os.open(f"{self.folder}/pid.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(fd, b"%d %d" % (os.getpid(), self.child))
        os.close(fd)
        os.rename(f"{self.folder}/pid.new", f"{self.folder}/pid")

    def _write_exit(self) -> None:
        ending = b"%d %.6f" % (self.exit_code(), time.time()) + self.output.unlogged_loss()
        os.pwrite(self.exit, ending.ljust(EXIT_BYTES), 0)
        os.rename(f"{self.folder}/exit.new", f"{self.folder}/exit")

    def exit_code(self) -> int:
        """The exit code as shells report it: 128 + n for a signal n."""
        assert self.status is not None
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else 128 - code


class Output:
    """The file of records, on a disk that may be full. `hold_s`: how long records may wait for room, in all."""

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
        """Whether records wait for room on the disk. Nothing more should be read from the task meanwhile."""
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
        """Tries to write what waits; to be called regularly. The time during which the disk was full is subtracted from
        `hold_s`."""
        if not self.is_behind or time.monotonic() < self.retry_at:
            return
        self.retry_at = time.monotonic() + RETRY_S
        if self.lost:
            self._admit()
        else:
            self._flush()

    def stop_holding(self) -> None:
        """Drops the records that wait, and from now on all that cannot be written at once."""
        self.hold_s = 0.0
        self._flush()

    def unlogged_loss(self) -> bytes:
        """For the file of the exit code: how many lines were lost, from when to when, if that is not in the log."""
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
        """Writes as much of `data` as fits; returns the rest."""
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
        """Writes to the log how many lines were lost. Returns False when there is no room for that either."""
        note = b"%.6f e %s\n" % (time.time(), lost_lines(self.lost, self.lost_from, self.lost_to).encode())
        left = self._written(b"\n" + note if self.torn else note)
        if left:
            return False
        self.lost = 0
        return True


def lost_lines(count: int, first: float, last: float) -> str:
    """The line of the log about lines that were lost."""
    at, until = (time.strftime("%H:%M:%S", time.gmtime(moment)) for moment in (first, last))
    return f"WARNING: {count} lines that were printed from {at} to {until} UTC are lost: the disk of this host was full"


class Lines:
    """Cuts the bytes of one output into records. A carriage return ends a line too, as progress bars print it.

    A line of more than `most` bytes becomes several, none of which ends within a character.
    """

    def __init__(self, kind: bytes, most: int = LINE_BYTES_MAX) -> None:
        self.kind, self.most = kind, most
        self.held = b""

    def split(self, data: bytes) -> bytes:
        text = self.held + data
        # A carriage return at the end of the data may be the first half of `\r\n`: it is kept until more data comes.
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
            while end > self.most - 3 and line[end] & 0xC0 == 0x80:  # a continuation byte of UTF-8 would come next
                end -= 1
            pieces.append(line[:end])
            line = line[end:]
        return [*pieces, line]


def descendants(ancestor: int) -> list[int]:
    """The process ids of all descendants of `ancestor`."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (parent := _parent(name)) is not None:
            children.setdefault(parent, []).append(int(name))
    found = children.get(ancestor, [])
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def _parent(pid: str) -> int | None:
    """The parent of a process; None for one that is gone, and for a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            state, parent = stat.read().rpartition(b") ")[2].split(b" ", 2)[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == b"Z" else int(parent)


def settle(out: int, err: int) -> None:
    """Prepares the forked process: a session of its own, the task's outputs as stdout and stderr, default signal
    handlers, and SIGKILL when its parent dies."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGABRT, signal.SIGCHLD, signal.SIGPIPE, *PASSED_ON):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)


def execute(command: list[str], out: int, err: int) -> None:
    """Turns this process into the command. Never returns."""
    try:
        settle(out, err)
        os.execvp(command[0], command)
    except OSError as problem:
        os.write(2, f"ERROR: cannot run {command[0]}: {problem.strerror}\n".encode())
    finally:
        os._exit(127)


def _noted(number: int, frame: object) -> None:
    """A handler that does nothing: Python writes to the wake-up descriptor only for signals that have one."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
