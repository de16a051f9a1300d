"""A slice for tests of the kernel: agents, how often each joined, and how many of them there are by host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from resolute.api.kernel.rows import Document, Projection, Rows, Table
from resolute.proto.message import Cause, Event, Recorded
from resolute.proto.pool import AgentDisabled, AgentJoined, AgentLost

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Visitor:
    agent_id: str
    host: str
    joined: int = 0
    share: float = 0.0
    slots: tuple[int, ...] = ()
    note: Document = None


@dataclass(frozen=True, slots=True)
class House:
    host: str
    visitors: int


VISITORS = Table("visitors", Visitor, key=("agent_id",), lookups=("host",))
HOUSES = Table("houses", House, key=("host",))
TABLES = (VISITORS, HOUSES)


def project(recorded: Recorded, rows: Rows) -> None:
    match recorded.event:
        case AgentJoined(agent_id=agent_id, host=host):
            before = rows.get(VISITORS, agent_id)
            visitor = before or Visitor(agent_id, host, note={"since": recorded.position})
            rows.put(VISITORS, replace(visitor, host=host, joined=visitor.joined + 1, share=1 / (visitor.joined + 1)))
            _count(rows, host)
            if before is not None and before.host != host:
                _count(rows, before.host)
        case AgentDisabled(agent_id=agent_id):
            rows.change(VISITORS, agent_id, joined=0, share=float("nan"))
            if agent_id.startswith("bad"):
                raise ValueError("a projection that fails half way")
        case AgentLost(agent_id=agent_id):
            lost = rows.get(VISITORS, agent_id)
            rows.remove(VISITORS, agent_id)
            if lost is not None:
                _count(rows, lost.host)


def _count(rows: Rows, host: str) -> None:
    if visitors := rows.where(VISITORS, "host", host):
        rows.put(HOUSES, House(host, len(visitors)))
    else:
        rows.remove(HOUSES, host)


DDL = """CREATE TABLE read_toy.visitors (
    agent_id text PRIMARY KEY, host text NOT NULL CHECK (host <> 'nowhere'), joined int NOT NULL,
    share double precision NOT NULL, slots int[] NOT NULL, note jsonb
);
CREATE INDEX visitors_host ON read_toy.visitors (host);
CREATE TABLE read_toy.houses (host text PRIMARY KEY, visitors int NOT NULL);
"""


def projection(folder: Path, version: int = 1, also_reads: frozenset[int] = frozenset()) -> Projection:
    ddl = folder / "tables.sql"
    ddl.write_text(DDL)
    return Projection("toy", version, TABLES, ddl, frozenset({"pool"}), project, also_reads)


def joined(agent_id: str, host: str = "here") -> AgentJoined:
    return AgentJoined(agent_id, (), host, "1")


def recorded(*events: Event) -> list[Recorded]:
    return [
        Recorded(n, "pool-default", n, event, Cause(f"cause-{n}", "someone"), AT) for n, event in enumerate(events, 1)
    ]
