"""Configuration policies: what administrators set for, and allow in, what is submitted. The directory owns them.

All policies are one stream, `policies-directory`. Secrets in a configuration are sealed before they come here, as in
the configurations of experiments.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event, Object

CLUSTER = 0
"""In the place of the number of a workspace: the policies of the whole cluster."""


class Workload(StrEnum):
    """What policies are about, as the wire has it."""

    EXPERIMENT = "EXPERIMENT"
    NTSC = "NTSC"
    """Notebooks, TensorBoards, shells and commands."""


class PolicyEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.POLICIES.name


class PolicyCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "directory"


@dataclass(frozen=True, slots=True)
class ConfigPoliciesSet(PolicyEvent):
    """In the place of those before."""

    sentence: ClassVar[str] = "config policies for {workload} were set in workspace {workspace_id} (0: the cluster)"
    workspace_id: int
    """`CLUSTER` for those of the whole cluster."""
    workload: str
    invariant_config: Object
    constraints: Object


@dataclass(frozen=True, slots=True)
class ConfigPoliciesDeleted(PolicyEvent):
    """What was submitted under them keeps its configuration."""

    sentence: ClassVar[str] = "config policies for {workload} were deleted in workspace {workspace_id} (0: the cluster)"
    workspace_id: int
    workload: str


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class SetConfigPolicies(PolicyCommand):
    workspace_id: int
    workload: str
    invariant_config: Object
    constraints: Object


@dataclass(frozen=True, slots=True)
class DeleteConfigPolicies(PolicyCommand):
    workspace_id: int
    workload: str


@dataclass(frozen=True, slots=True)
class DeletePoliciesOfWorkspace(PolicyCommand):
    """Part of deleting the workspace."""

    workspace_id: int
