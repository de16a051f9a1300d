"""Configuration policies: which rows the log comes to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from resolute.api.kernel.rows import Document, Projection, Rows, Table
from resolute.proto import streams
from resolute.proto.message import Recorded
from resolute.proto.policies import ConfigPoliciesDeleted, ConfigPoliciesSet


@dataclass(frozen=True, slots=True)
class Policy:
    workspace_id: int
    workload: str
    invariant_config: Document
    constraints: Document


POLICIES = Table("policies", Policy, key=("workspace_id", "workload"))


def project(recorded: Recorded, rows: Rows) -> None:
    match recorded.event:
        case ConfigPoliciesSet(workspace_id, workload, invariant_config, constraints):
            rows.put(POLICIES, Policy(workspace_id, workload, invariant_config, constraints))
        case ConfigPoliciesDeleted(workspace_id, workload):
            rows.remove(POLICIES, workspace_id, workload)


PROJECTION = Projection(
    slice="policies",
    version=1,
    tables=(POLICIES,),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.POLICIES.name}),
    project=project,
)
