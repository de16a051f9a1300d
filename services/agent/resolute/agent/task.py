"""One share of an allocation on this agent, from its start (or from where an earlier agent left it) to its end.

The task's output is sent to a gateway as it comes. Its start and its end are reported to the scheduler, again until it
answers. When the agent dies in between, the next agent continues from the ledger and from what the runtime has kept.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import structlog

from resolute.agent.ledger import Entry, Ledger
from resolute.agent.log_lines import Tracebacks, last_words, read_lines
from resolute.agent.requests import Requests, Stored
from resolute.agent.runtime import (
    STOPPED,
    WITH_ITS_CLUSTER,
    CannotStart,
    Chunk,
    Exit,
    Launch,
    Line,
    TaskRuntime,
)
from resolute.agent.settings import AgentSettings
from resolute.proto.errors import SetAside
from resolute.proto.pool import LogBatch, TaskReport
from resolute.proto.states import ShareNews
from resolute.service import Patience

log_ = structlog.get_logger()

LINES_MAX = 1000
LOOK_S_MIN, LOOK_S_TALKING, LOOK_S_MAX = 0.05, 0.2, 0.5
"""The pauses between reads of a task's output: at first, while it prints a little, and while it prints nothing. Each
read that finds lines takes processor time of this host, the bus and a gateway, which training on the same processors
loses."""
TRICKLE_BYTES = 8192
"""Output of fewer bytes than this counts as a little."""

START_AGAIN_S, START_AGAIN_MOST_S = 5.0, 15.0
"""The first and the longest pause before a report of a start that was refused is sent again. The longest is well below
the minute for which a scheduler that has just started notes what it does before it does it (`poison_guard.CAREFUL_S`):
a report of which schedulers die is then refused by all of them."""

CANNOT_START = 125
"""The exit code of a task that never ran, as with `docker run`."""


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What all tasks of an agent share."""

    runtime: TaskRuntime
    ledger: Ledger
    requests: Requests
    settings: AgentSettings
    address: str


class Task:
    """Looks after one task: owns its entry in the ledger. An exception of its methods is a bug or a full disk; the
    agent tries again."""

    def __init__(self, entry: Entry, context: TaskContext) -> None:
        self.entry = entry
        self._context = context
        self._begun = False
        self._asked_to_end = False
        self._tracebacks: Tracebacks = frozenset()
        self._one_by_one_before = 0
        """Lines before this number are sent one by one, because they were in a batch that was refused."""
        self._ended = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether no process of the task runs any more: its slots are free for others."""
        return self._ended.is_set() or self.reported

    @property
    def reported(self) -> bool:
        """Whether the task's end is in the log; some of its output may still have to be sent."""
        return self.entry.reported_at_s is not None

    async def run(self, launch: Callable[[], Awaitable[Launch]] | None) -> None:
        """`launch` returns what to start, or raises CannotStart. Without it, this attaches to a task that an earlier
        agent started."""
        shipping = asyncio.create_task(self._ship())
        try:
            if not self.reported:
                await self._live(launch, shipping)
            self._ended.set()
            await shipping
        finally:
            shipping.cancel()
        if not self._context.settings.keep_finished:
            await self._context.runtime.forget(self.entry.resources_id)

    async def ends_within(self, patience_s: float) -> bool:
        """Whether the task ends by itself in that time."""
        try:
            async with asyncio.timeout(patience_s):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    def must_be_wanted(self) -> None:
        """Raises CannotStart where the task was asked to end before it started."""
        if self.entry.stop_reason:
            raise CannotStart(self.entry.stop_reason)

    async def report_missing(self, found: Exit) -> None:
        """Reports that this agent has no such task, and notes in the ledger that it must not start one."""
        self._ended.set()
        await self._report_exit(found)

    async def report_again(self) -> None:
        """Reports the task's end once more, to the pool in which this agent is now."""
        self.entry = replace(self.entry, pool=self._context.settings.pool)
        await self._report_exit(self.entry.found or Exit(None, "the agent no longer has it"))

    async def give_up(self, why: str) -> None:
        """Kills the task, and does not wait for its exit code."""
        await self._context.runtime.signal(self.entry.resources_id, signal.SIGKILL)
        await self._context.runtime.forget(self.entry.resources_id)
        self._ended.set()
        if not self.reported:
            await self._report_exit(Exit(None, why))

    async def stop(self, reason: str) -> None:
        """Asks the task to end; it is killed if it does not. Asking again has no effect."""
        if not self.entry.stop_reason:
            log_.info("stopping", resources_id=self.entry.resources_id, why=reason)
            self._write(replace(self.entry, stop_reason=reason))
        if not self.ended and not self._asked_to_end:
            self._asked_to_end = self._begun  # a task that is just being started may not get the signal
            try:
                await self._context.runtime.signal(self.entry.resources_id, signal.SIGTERM)
            except Exception:
                self._asked_to_end = False
                raise

    # ------------------------------------------------------------ from start to exit

    async def _live(self, launch: Callable[[], Awaitable[Launch]] | None, shipping: asyncio.Task[None]) -> None:
        found = self.entry.found or await self._wait_for_exit(launch)
        self._ended.set()
        # The last lines should be stored before the end is reported; but the report waits only for a while.
        await asyncio.wait({shipping}, timeout=self._context.settings.logs_wait_s)
        await self._report_exit(found)

    async def _wait_for_exit(self, launch: Callable[[], Awaitable[Launch]] | None) -> Exit:
        """The exit is written to the ledger before it is reported, so that the agent that is started next, if this one
        dies now, reports the same exit, and the log gets its last line once."""
        found = await self._begin(launch)
        if found is None:
            found = await self._wait_for_end_of_run()
        words = (found.lost, last_words(found, self.entry.stop_reason, self._begun))
        self._write(replace(self.entry, found=found, last_words="\n".join(filter(None, words))))
        return found

    async def _wait_for_end_of_run(self) -> Exit:
        """Reports the start of the task, and waits for its end. The other tasks of a gang wait for the start: where the
        scheduler refuses the report because processes died of it, the agent sends it again for as long as the task
        runs."""
        address = await self._context.runtime.address(self.entry.resources_id) or self._context.address
        refused = await self._report_start(address)
        repeating = asyncio.create_task(self._repeat_the_start(address, refused)) if refused is not None else None
        try:
            return self._planned(await self._context.runtime.exit(self.entry.resources_id))
        finally:
            if repeating is not None:
                repeating.cancel()

    async def _repeat_the_start(self, address: str, refused: SetAside | None) -> None:
        patience = Patience(START_AGAIN_S, START_AGAIN_MOST_S)
        while refused is not None:
            await patience.wait(f"report of the start of {self.entry.resources_id}", refused)
            refused = await self._report_start(address)

    async def _report_start(self, address: str) -> SetAside | None:
        """Reports the start. Returns the refusal, when a later report may be accepted."""
        try:
            await self._report(ShareNews.STARTED, address=address)
        except SetAside as error:
            return error
        return None

    def _planned(self, found: Exit) -> Exit:
        """A task that was ended together with its cluster has no exit code: the command that takes the cluster down
        writes a file that says so."""
        folder = self._context.settings.work_dir / "tasks" / self.entry.resources_id
        if found.code is None and (folder / STOPPED).exists():
            return Exit(None, WITH_ITS_CLUSTER)
        return found

    async def _begin(self, launch: Callable[[], Awaitable[Launch]] | None) -> Exit | None:
        """Starts the task, or attaches to it; returns an exit where it could not start."""
        try:
            if launch is not None:
                await self._context.runtime.start(await launch())
            elif not await self._context.runtime.attach(self.entry.resources_id):
                return Exit(None, "the agent was stopped before it could start the task")
        except CannotStart as error:
            return Exit(CANNOT_START, error.message, error.hopeless)
        except Exception as error:
            log_.exception("starting a task failed", resources_id=self.entry.resources_id)
            if launch is None or await self._context.runtime.attach(self.entry.resources_id):
                raise
            return Exit(CANNOT_START, f"the agent failed to start it: {error!r}")
        self._begun = True
        log_.info("running" if launch else "found again", resources_id=self.entry.resources_id)
        if self.entry.stop_reason:
            await self.stop(self.entry.stop_reason)
        return None

    # ------------------------------------------------------------ output

    async def _ship(self) -> None:
        """Sends every line, until the task has ended and no line is left."""
        pause_s = LOOK_S_MIN
        limit = LINES_MAX
        while True:
            last_look = self._ended.is_set()
            chunk = await self._context.runtime.logs(self.entry.resources_id, self.entry.mark, limit)
            before = self.entry.mark
            if chunk.lines:
                limit = await self._hand_over(chunk, limit)
                if not 0 < self.entry.mark - before < TRICKLE_BYTES:
                    continue  # there are more lines, or the same lines have to be sent in smaller parts
                pause_s = LOOK_S_MIN if pause_s > LOOK_S_TALKING else pause_s
            elif last_look:
                await self._close()
                return
            await self._pause(pause_s)
            pause_s = min(pause_s * 1.5, LOOK_S_TALKING if chunk.lines else LOOK_S_MAX)

    async def _hand_over(self, chunk: Chunk, limit: int) -> int:
        """Sends some lines; returns how many to send next. A batch that is too large is sent in halves. The lines of a
        refused batch are sent one by one, so that only the harmful line is left out. (A batch that ends the gateway's
        process does so several times before it is refused, so the harmful line should be in one batch only.)"""
        first, agent_id = self.entry.lines, self._context.settings.id
        lines, tracebacks = read_lines(self.entry, agent_id, first, chunk.lines, self._tracebacks)
        stored = await self._context.requests.store(LogBatch(lines))
        if stored is not Stored.YES and len(lines) > 1:
            if stored is Stored.TOO_LARGE:
                return len(lines) // 2
            self._one_by_one_before = first + len(lines)
            return 1
        self._tracebacks = tracebacks
        self._write(replace(self.entry, mark=chunk.mark, lines=first + len(lines)))
        return 1 if self.entry.lines < self._one_by_one_before else min(limit * 2, LINES_MAX)

    async def _close(self) -> None:
        """Sends the agent's last lines about the task, after the task's own lines. Sending them again has no effect."""
        if self.entry.last_words:
            agent_id, at = self._context.settings.id, datetime.now(UTC)
            said = [Line(at, "stderr", words) for words in self.entry.last_words.split("\n")]
            lines, _ = read_lines(self.entry, agent_id, self.entry.lines, said)
            await self._context.requests.store(LogBatch(tuple(replace(line, source="agent") for line in lines)))
            self._write(replace(self.entry, last_words="", lines=self.entry.lines + len(lines)))

    async def _pause(self, pause_s: float) -> None:
        try:
            async with asyncio.timeout(pause_s):
                await self._ended.wait()
        except TimeoutError:
            return

    # ------------------------------------------------------------ reports to the scheduler

    async def _report_exit(self, found: Exit) -> None:
        """A report that is refused counts as sent: where the scheduler does not know of the end, its next answer to a
        hello still orders the task to be started or stopped, and the agent reports the end again."""
        reason = found.reason or self.entry.stop_reason
        try:
            await self._report(ShareNews.EXITED, exit_code=found.code, reason=reason, hopeless=found.hopeless)
        except SetAside as error:
            log_.warning("report of an end refused", resources_id=self.entry.resources_id, why=error.message)
        self._write(replace(self.entry, reported_at_s=time.time()))
        log_.info("ended", resources_id=self.entry.resources_id, exit_code=found.code, why=found.reason)

    async def _report(
        self, what: ShareNews, address: str = "", exit_code: int | None = None, reason: str = "", hopeless: bool = False
    ) -> None:
        settings, entry = self._context.settings, self.entry
        await self._context.requests.report(
            TaskReport(
                agent_id=settings.id,
                pool=entry.pool or settings.pool,
                allocation_id=entry.allocation_id,
                resources_id=entry.resources_id,
                what=what,
                address=address,
                exit_code=exit_code,
                reason=reason,
                hopeless=hopeless,
            )
        )

    def _write(self, entry: Entry) -> None:
        """Writes the ledger. A full disk is only logged: after a restart some steps are repeated, and no task is
        lost."""
        self.entry = entry
        try:
            self._context.ledger.write(entry)
        except OSError as error:
            log_.error("the ledger cannot be written", resources_id=entry.resources_id, why=str(error))
