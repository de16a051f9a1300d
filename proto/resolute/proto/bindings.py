"""Bindings of resource pools to workspaces: a pool that is bound is for its workspaces alone. The directory owns them.

All bindings are one stream, `bindings-directory`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event


class BindingEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.BINDINGS.name


class BindingCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "directory"


@dataclass(frozen=True, slots=True)
class PoolBound(BindingEvent):
    sentence: ClassVar[str] = "resource pool {pool} was bound to workspace {workspace_id}"
    pool: str
    workspace_id: int


@dataclass(frozen=True, slots=True)
class PoolUnbound(BindingEvent):
    """A pool that is bound to no workspace any more is for all of them. Work that is in the pool stays there."""

    sentence: ClassVar[str] = "resource pool {pool} is not bound to workspace {workspace_id} any more"
    pool: str
    workspace_id: int


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class BindPool(BindingCommand):
    """Besides the workspaces that the pool is bound to already."""

    pool: str
    workspace_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UnbindPool(BindingCommand):
    """Workspaces that the pool is not bound to are left out."""

    pool: str
    workspace_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReplacePoolBindings(BindingCommand):
    """Bind the pool to these workspaces, and to no other one."""

    pool: str
    workspace_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UnbindWorkspace(BindingCommand):
    """Part of deleting the workspace."""

    workspace_id: int
