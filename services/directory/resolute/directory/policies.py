"""Configuration policies: which ones there are, for which workloads, of the cluster and of each workspace.

The gateway checks what a policy says before it asks for it, and holds submissions to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, get_args

from resolute.directory.part import Part
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig
from resolute.proto.message import Event
from resolute.proto.policies import (
    CLUSTER,
    ConfigPoliciesDeleted,
    ConfigPoliciesSet,
    DeleteConfigPolicies,
    DeletePoliciesOfWorkspace,
    SetConfigPolicies,
    Workload,
)

State = Enum("State", "NONE SET")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.NONE, ConfigPoliciesSet): State.SET,
    (State.SET, ConfigPoliciesSet): State.SET,
    (State.SET, ConfigPoliciesDeleted): State.NONE,
}
"""Of the policies for one kind of workload, of the cluster or of one workspace."""

PolicyCommand = SetConfigPolicies | DeleteConfigPolicies | DeletePoliciesOfWorkspace

Key: TypeAlias = tuple[int, str]
"""The workspace, or `CLUSTER`, and the workload."""


@dataclass(slots=True)
class Policies:
    """Every policy that is set. Owned by the fold that grows it."""

    by_key: dict[Key, ConfigPoliciesSet] = field(default_factory=dict)


def decide(command: PolicyCommand, policies: Policies) -> list[Event]:
    """Raises InvalidConfig for a workload that is unknown, or that no configuration can be set for."""
    match command:
        case SetConfigPolicies(workspace_id, workload, invariant_config, constraints):
            _check(command)
            new = ConfigPoliciesSet(workspace_id, workload, invariant_config, constraints)
            return [] if policies.by_key.get((workspace_id, workload)) == new else [new]
        case DeleteConfigPolicies(workspace_id, workload):
            known = (workspace_id, workload) in policies.by_key
            return [ConfigPoliciesDeleted(workspace_id, workload)] if known else []
        case DeletePoliciesOfWorkspace(workspace_id):
            assert workspace_id != CLUSTER, "the cluster is no workspace"
            return [ConfigPoliciesDeleted(*key) for key in policies.by_key if key[0] == workspace_id]


def _check(command: SetConfigPolicies) -> None:
    if command.workload not in set(Workload):
        raise InvalidConfig(f"workloadType: expected {' or '.join(Workload)}; found {command.workload!r}")
    if command.workload != Workload.EXPERIMENT and command.invariant_config:
        raise InvalidConfig(f"invariant_config: expected none for {command.workload}, which has constraints only")


def evolve(policies: Policies, event: Event) -> Policies:
    match event:
        case ConfigPoliciesSet(workspace_id, workload):
            assert FLOW[_state(policies, workspace_id, workload), type(event)] is State.SET
            policies.by_key[workspace_id, workload] = event
            return policies
        case ConfigPoliciesDeleted(workspace_id, workload):
            assert FLOW[_state(policies, workspace_id, workload), type(event)] is State.NONE
            del policies.by_key[workspace_id, workload]
            return policies
    raise AssertionError(f"not an event of policies: {event}")


def _state(policies: Policies, *key: int | str) -> State:
    return State.SET if key in policies.by_key else State.NONE


PART = Part(
    commands=frozenset(get_args(PolicyCommand)),
    stream_of=lambda command: streams.POLICY_DIRECTORY,
    initial=Policies,
    decide=decide,
    evolve=evolve,
    ids={},
    of_workspace=DeletePoliciesOfWorkspace,
)
