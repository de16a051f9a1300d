"""`resolute log why`: reads an explanation from the log and writes it as text for people or as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC

import orjson

from resolute.eventlog.chain import Row
from resolute.eventlog.formatting import instant
from resolute.eventlog.readable import ReadableLog
from resolute.eventlog.sentences import sentence
from resolute.eventlog.why import Answer, Fact


class LogHistory:
    """A `History` of a log. Events that were read once are kept in memory."""

    def __init__(self, log: ReadableLog) -> None:
        self._log = log
        self._mentioned: dict[tuple[str, str], list[Fact]] = {}
        self._streams: dict[str, list[Fact]] = {}

    async def at(self, position: int) -> Fact | None:
        row = await self._log.row_at(position)
        return Fact.of(row) if row is not None else None

    async def append_of(self, fact: Fact) -> Sequence[Fact]:
        return [Fact.of(row) for row in await self._log.rows_caused_by(fact.row.stream, fact.row.caused_by)]

    async def mentioning(self, field: str, *values: str) -> Sequence[Fact]:
        if new := [value for value in values if (field, value) not in self._mentioned]:
            self._mentioned |= {(field, value): [] for value in new}
            for row in await self._log.rows_mentioning([field], *new):
                fact = Fact.of(row)
                self._mentioned[field, str(fact.data[field])].append(fact)
        found = [fact for value in values for fact in self._mentioned[field, value]]
        return sorted(found, key=lambda fact: fact.position)

    async def stream(self, name: str) -> Sequence[Fact]:
        if name not in self._streams:
            self._streams[name] = [Fact.of(row) for row in await self._log.stream_rows(name)]
        return self._streams[name]

    async def of_types(self, stream: str, *types: str) -> Sequence[Fact]:
        return [Fact.of(row) for row in await self._log.rows_of_types(stream, types)]


def line_of(row: Row) -> str:
    """One event as a line: the time, the actor, and a sentence about what happened."""
    return f"{instant(row.recorded_at)}  {row.actor:<16} {sentence(row, orjson.loads(row.data))}"


def for_people(name: str, answer: Answer) -> Iterator[str]:
    if answer.otherwise is not None and answer.otherwise.position > answer.fact.position:
        yield f"{name}, since then: {_sentence(answer.otherwise)}"
    elif answer.otherwise is not None:
        yield f"{name}, before that: {_sentence(answer.otherwise)}"
    yield f"{name}: {_sentence(answer.fact)}"
    if answer.line is not None:
        yield f"{name}, in its line: {_sentence(answer.line)}"
    yield ""
    for fact in answer.chain:
        yield f"{instant(fact.row.recorded_at)}  {fact.row.actor:<16} {_sentence(fact)}"
        yield f"{'':25} {'':16} {fact.row.stream}@{fact.row.version}, {_because(fact, answer)}"


def _because(fact: Fact, answer: Answer) -> str:
    led = answer.because.get(fact.position, ())
    if led:
        facts = {one.position: one for one in answer.chain}
        return f"because of {', '.join(f'{facts[p].row.stream}@{facts[p].row.version}' for p in led if p in facts)}"
    cause = fact.row.caused_by
    kind = cause.partition("-")[0] if cause.startswith("req-") else cause.partition("/")[0]
    return {
        "req": f"asked for by {fact.row.actor}",
        "report": f"reported by {fact.row.actor}",
        "hello": f"said by {fact.row.actor}",
        "silence": "noticed by the scheduler: nothing was heard",
        "deadline": "noticed by the scheduler: the time was up",
    }.get(kind, f"because of {cause}")


def for_programs(name: str, answer: Answer) -> str:
    """One JSON object: the answer, and the chain of events that led to it."""
    return orjson.dumps(
        {
            "about": name,
            "question": answer.question,
            "answer": _document(answer.fact, answer),
            "otherwise": _document(answer.otherwise, answer) if answer.otherwise is not None else None,
            "line": _document(answer.line, answer) if answer.line is not None else None,
            "chain": [_document(fact, answer) for fact in answer.chain],
        }
    ).decode()


def _document(fact: Fact, answer: Answer) -> dict[str, object]:
    row = fact.row
    return {
        "position": row.position,
        "stream": row.stream,
        "version": row.version,
        "type": row.type,
        "at": row.recorded_at.astimezone(UTC),
        "actor": row.actor,
        "caused_by": row.caused_by,
        "because": list(answer.because.get(row.position, ())),
        "says": _sentence(fact),
        "data": fact.data,
    }


def _sentence(fact: Fact) -> str:
    return sentence(fact.row, fact.data)
