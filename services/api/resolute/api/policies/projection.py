"""Configuration policies: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Document, Projection, Rows, Table
from resolute.proto import streams
from resolute.proto.message import Event, Recorded
from resolute.proto.policies import ConfigPoliciesDeleted, ConfigPoliciesSet


@dataclass(frozen=True, slots=True)
class Policy:
    workspace_id: int
    workload: str
    invariant_config: Document
    constraints: Document


POLICIES = Table("policies", Policy, key=("workspace_id", "workload"))


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, rows)


def _set(made: ConfigPoliciesSet, rows: Rows) -> None:
    rows.put(POLICIES, Policy(made.workspace_id, made.workload, made.invariant_config, made.constraints))


def _deleted(deleted: ConfigPoliciesDeleted, rows: Rows) -> None:
    rows.remove(POLICIES, deleted.workspace_id, deleted.workload)


SHOWS: Mapping[type[Event], Callable[[Any, Rows], None]] = {
    ConfigPoliciesSet: _set,
    ConfigPoliciesDeleted: _deleted,
}

PROJECTION = Projection(
    slice="policies",
    version=1,
    tables=(POLICIES,),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.POLICIES.name}),
    project=project,
)
