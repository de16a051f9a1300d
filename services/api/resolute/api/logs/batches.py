"""Batches of log lines as tasks ship them. Lines come by the thousand, so that no message is made of each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from resolute.api.body_kinds import LINES_MAX
from resolute.api.kernel.decoding import Decoded
from resolute.api.kernel.fields import items, kind_of
from resolute.api.kernel.messages import InBody, Request, hints_of
from resolute.api.kernel.reading import checks_of
from resolute.api.kernel.values import Unfit, check_list, expect_object
from resolute.api.logs.levels import STORED
from resolute.api.logs.messages import LogLevel, PostedLogs, TaskLog
from resolute.api.measures.logs import sequence_of
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import LogLine

BARE = Annotated[tuple[TaskLog, ...], items(100_000)]

CHECKS = checks_of(TaskLog)


class PostedLine(NamedTuple):
    task_id: str | None
    """None where the line names none."""
    rank: int
    at: datetime | None
    level: str
    stdtype: str
    text: str
    agent_id: str
    container_id: str
    source: str


@dataclass(frozen=True, slots=True)
class LineBatch(Decoded):
    documented: ClassVar[Any] = PostedLogs
    lines: tuple[PostedLine, ...]

    @classmethod
    def decoded(cls, document: Any) -> Self:
        records = document.get("logs")
        return cls(posted(() if records is None else records, hints_of(PostedLogs)["logs"], "logs"))

    def named(self) -> Any:
        return {"logs": _tasks(self.lines)}


@dataclass(frozen=True, slots=True)
class BareLineBatch(Decoded):
    """The older form: the list alone."""

    documented: ClassVar[Any] = BARE
    lines: tuple[PostedLine, ...]

    @classmethod
    def decoded(cls, document: Any) -> Self:
        return cls(posted(document, BARE, ""))

    def named(self) -> Any:
        return _tasks(self.lines)


def _tasks(lines: tuple[PostedLine, ...]) -> list[dict[str, str]]:
    named = dict.fromkeys(line.task_id for line in lines)
    return [{"taskId": task_id} for task_id in named if task_id is not None]


class PostTaskLogs(Request):
    body: InBody[LineBatch]


class LegacyTaskLogs(Request):
    body: InBody[BareLineBatch]


def posted(records: Any, declared: Any, where: str) -> tuple[PostedLine, ...]:
    """The lines of a batch that stands at `where` of the body. Raises InvalidConfig for what does not fit."""
    try:
        check_list(kind_of(declared), records)
    except Unfit as unfit:
        raise InvalidConfig(f"{where or 'body'}: {unfit}") from None
    return tuple(_line(record, where, place) for place, record in enumerate(records))


def _line(record: Any, where: str, place: int) -> PostedLine:
    found: dict[str, Any] = {}
    key = ""
    try:
        for key, value in expect_object(record).items():
            if value is not None and (check := CHECKS.get(key)) is not None:
                found[key] = check(value)
    except Unfit as unfit:
        raise InvalidConfig(f"{where}[{place}]{key and '.'}{key}: {unfit}") from None
    return PostedLine(
        task_id=found.get("taskId"),
        rank=found.get("rankId", 0),
        at=found.get("timestamp"),
        level=STORED[found.get("level", LogLevel.UNSPECIFIED)],
        stdtype=found.get("stdtype") or "stdout",
        text=found.get("log", "").removesuffix("\n"),
        agent_id=found.get("agentId", ""),
        container_id=found.get("containerId", ""),
        source=found.get("source") or "task",
    )


def lines_of(
    batch: LineBatch | BareLineBatch, allocation_id: str, request_id: str, now: datetime
) -> tuple[LogLine, ...]:
    """The lines of the allocation that sends them. Senders count no lines, so each line of a request is new, unless the
    request is one that was sent before under the same Idempotency-Key. Raises InvalidConfig."""
    if len(batch.lines) > LINES_MAX:
        raise InvalidConfig(f"logs: expected at most {LINES_MAX:,} log records in a batch; found more")
    return tuple(
        LogLine(
            task_id=_task_of(line, place),
            allocation_id=allocation_id,
            rank=line.rank,
            sequence=sequence_of(request_id, place),
            at=line.at or now,
            level=line.level,
            stdtype=line.stdtype,
            text=line.text,
            agent_id=line.agent_id,
            container_id=line.container_id,
            source=line.source,
        )
        for place, line in enumerate(batch.lines)
    )


def _task_of(line: PostedLine, place: int) -> str:
    if line.task_id is None:
        raise InvalidConfig(f"logs[{place}].taskId: expected a string")
    return line.task_id
