"""One share of an allocation on this agent, from its start (or from where an earlier agent left it) to its end.

Its output is handed over as it comes, its start and its end are reported until somebody has heard it. What the
agent dies in the middle of, the next one takes up: everything before is in the ledger, everything else in the
runtime.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import structlog

from resolute.agent.desk import Desk, Stored
from resolute.agent.ledger import Entry, Ledger
from resolute.agent.log_lines import Tracebacks, last_words, read_lines
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
"""Between looks at what a task prints: at first, while it goes on to print a little, and when it has been silent. Each
look that finds something costs this host, the bus and a gateway what training on the same processors would miss."""
TRICKLE_BYTES = 8192
"""What a look finds below that is a little."""

START_AGAIN_S, START_AGAIN_MOST_S = 5.0, 60.0
"""The first and the longest pause before a report of a start that was refused is sent again."""

CANNOT_START = 125
"""The exit code of a task that never ran, as container engines have it."""


@dataclass(frozen=True, slots=True)
class Office:
    """What all tasks of an agent share."""

    runtime: TaskRuntime
    ledger: Ledger
    desk: Desk
    settings: AgentSettings
    address: str


class Task:
    def __init__(self, entry: Entry, office: Office) -> None:
        self.entry = entry
        self._office = office
        self._begun = False
        self._asked_to_end = False
        self._tracebacks: Tracebacks = frozenset()
        self._one_by_one_before = 0
        """Lines before this one are sent one by one: they were in a batch that was refused."""
        self._ended = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs any more: its slots are free for others."""
        return self._ended.is_set() or self.reported

    @property
    def reported(self) -> bool:
        """Whether its end is in the log; it may still have output to hand over."""
        return self.entry.reported_at_s is not None

    async def run(self, launch: Callable[[], Awaitable[Launch]] | None) -> None:
        """`launch` says what to start, or raises CannotStart; without, it is found where an earlier agent left it."""
        shipping = asyncio.create_task(self._ship())
        try:
            if not self.reported:
                await self._live(launch, shipping)
            self._ended.set()
            await shipping
        finally:
            shipping.cancel()
        if not self._office.settings.keep_finished:
            await self._office.runtime.forget(self.entry.resources_id)

    async def ends_within(self, patience_s: float) -> bool:
        """Whether it ends by itself in that time."""
        try:
            async with asyncio.timeout(patience_s):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    def must_be_wanted(self) -> None:
        """Raises CannotStart where it was asked to end before it has started."""
        if self.entry.stop_reason:
            raise CannotStart(self.entry.stop_reason)

    async def disown(self, found: Exit) -> None:
        """Say that there is no such task here, and remember that there shall be none."""
        self._ended.set()
        await self._report_exit(found)

    async def report_again(self) -> None:
        """Report once more how it ended, to the pool in which this agent is now."""
        self.entry = replace(self.entry, pool=self._office.settings.pool)
        await self._report_exit(self.entry.found or Exit(None, "the agent no longer has it"))

    async def give_up(self, why: str) -> None:
        """End it, without a look at how."""
        await self._office.runtime.signal(self.entry.resources_id, signal.SIGKILL)
        await self._office.runtime.forget(self.entry.resources_id)
        self._ended.set()
        if not self.reported:
            await self._report_exit(Exit(None, why))

    async def stop(self, reason: str) -> None:
        """Ask it to end, and see to it that it does. Asking again changes nothing."""
        if not self.entry.stop_reason:
            log_.info("stopping", resources_id=self.entry.resources_id, why=reason)
            self._write(replace(self.entry, stop_reason=reason))
        if not self.ended and not self._asked_to_end:
            self._asked_to_end = self._begun  # one that is being started may never come to hear it
            try:
                await self._office.runtime.signal(self.entry.resources_id, signal.SIGTERM)
            except Exception:
                self._asked_to_end = False
                raise

    # ------------------------------------------------------------ its life

    async def _live(self, launch: Callable[[], Awaitable[Launch]] | None, shipping: asyncio.Task[None]) -> None:
        found = self.entry.found or await self._see_the_end(launch)
        self._ended.set()
        # The last lines should be there before the end is known; but no exit waits for them for ever.
        await asyncio.wait({shipping}, timeout=self._office.settings.logs_wait_s)
        await self._report_exit(found)

    async def _see_the_end(self, launch: Callable[[], Awaitable[Launch]] | None) -> Exit:
        """Written down before it is told, so that it is the same, and its line is said once, whoever tells it."""
        found = await self._begin(launch)
        if found is None:
            found = await self._see_it_run()
        words = (found.lost, last_words(found, self.entry.stop_reason, self._begun))
        self._write(replace(self.entry, found=found, last_words="\n".join(filter(None, words))))
        return found

    async def _see_it_run(self) -> Exit:
        """Report its start, and wait for its end. The others of a gang wait for the start: where the scheduler refuses
        the report because processes died of it, the agent sends it again for as long as the task runs."""
        address = await self._office.runtime.address(self.entry.resources_id) or self._office.address
        refused = await self._report_start(address)
        repeating = asyncio.create_task(self._repeat_the_start(address, refused)) if refused is not None else None
        try:
            return self._planned(await self._office.runtime.exit(self.entry.resources_id))
        finally:
            if repeating is not None:
                repeating.cancel()

    async def _repeat_the_start(self, address: str, refused: SetAside | None) -> None:
        patience = Patience(START_AGAIN_S, START_AGAIN_MOST_S)
        while refused is not None:
            await patience.wait(f"report of the start of {self.entry.resources_id}", refused)
            refused = await self._report_start(address)

    async def _report_start(self, address: str) -> SetAside | None:
        """The refusal, where the report may be taken later."""
        try:
            await self._report(ShareNews.STARTED, address=address)
        except SetAside as error:
            return error
        return None

    def _planned(self, found: Exit) -> Exit:
        """A task that is ended with its cluster cannot write down how; the command that ends it notes that it does."""
        folder = self._office.settings.work_dir / "tasks" / self.entry.resources_id
        if found.code is None and (folder / STOPPED).exists():
            return Exit(None, WITH_ITS_CLUSTER)
        return found

    async def _begin(self, launch: Callable[[], Awaitable[Launch]] | None) -> Exit | None:
        """The end, when there was no beginning."""
        try:
            if launch is not None:
                await self._office.runtime.start(await launch())
            elif not await self._office.runtime.attach(self.entry.resources_id):
                return Exit(None, "the agent was stopped before it could start the task")
        except CannotStart as error:
            return Exit(CANNOT_START, error.message, error.hopeless)
        except Exception as error:
            log_.exception("starting a task failed", resources_id=self.entry.resources_id)
            if launch is None or await self._office.runtime.attach(self.entry.resources_id):
                raise
            return Exit(CANNOT_START, f"the agent failed over it: {error!r}")
        self._begun = True
        log_.info("running" if launch else "found again", resources_id=self.entry.resources_id)
        if self.entry.stop_reason:
            await self.stop(self.entry.stop_reason)
        return None

    # ------------------------------------------------------------ its output

    async def _ship(self) -> None:
        """Hand over every line, until it has ended and there are no more."""
        pause_s = LOOK_S_MIN
        limit = LINES_MAX
        while True:
            last_look = self._ended.is_set()
            chunk = await self._office.runtime.logs(self.entry.resources_id, self.entry.mark, limit)
            before = self.entry.mark
            if chunk.lines:
                limit = await self._hand_over(chunk, limit)
                if not 0 < self.entry.mark - before < TRICKLE_BYTES:
                    continue  # there is more, or the same to be tried in smaller parts
                pause_s = LOOK_S_MIN if pause_s > LOOK_S_TALKING else pause_s
            elif last_look:
                await self._close()
                return
            await self._pause(pause_s)
            pause_s = min(pause_s * 1.5, LOOK_S_TALKING if chunk.lines else LOOK_S_MAX)

    async def _hand_over(self, chunk: Chunk, limit: int) -> int:
        """How many lines to try next. What is too large is tried in halves. The lines of a refused batch are tried one
        by one, so that the line that did harm is sent in one batch with others only, and is the only one left out: a
        batch that ends the gateway's process does so several times before it is refused."""
        first, agent_id = self.entry.lines, self._office.settings.id
        lines, tracebacks = read_lines(self.entry, agent_id, first, chunk.lines, self._tracebacks)
        stored = await self._office.desk.store(LogBatch(lines))
        if stored is not Stored.YES and len(lines) > 1:
            if stored is Stored.TOO_LARGE:
                return len(lines) // 2
            self._one_by_one_before = first + len(lines)
            return 1
        self._tracebacks = tracebacks
        self._write(replace(self.entry, mark=chunk.mark, lines=first + len(lines)))
        return 1 if self.entry.lines < self._one_by_one_before else min(limit * 2, LINES_MAX)

    async def _close(self) -> None:
        """After the task's own lines the agent's, where the task's end needs a word. Said again, they are the same."""
        if self.entry.last_words:
            agent_id, at = self._office.settings.id, datetime.now(UTC)
            said = [Line(at, "stderr", words) for words in self.entry.last_words.split("\n")]
            lines, _ = read_lines(self.entry, agent_id, self.entry.lines, said)
            await self._office.desk.store(LogBatch(tuple(replace(line, source="agent") for line in lines)))
            self._write(replace(self.entry, last_words="", lines=self.entry.lines + len(lines)))

    async def _pause(self, pause_s: float) -> None:
        try:
            async with asyncio.timeout(pause_s):
                await self._ended.wait()
        except TimeoutError:
            return

    # ------------------------------------------------------------ what is said about it

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
        settings, entry = self._office.settings, self.entry
        await self._office.desk.report(
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
        """A full disk costs a repetition after the next restart, and no task."""
        self.entry = entry
        try:
            self._office.ledger.write(entry)
        except OSError as error:
            log_.error("the ledger cannot be written", resources_id=entry.resources_id, why=str(error))
