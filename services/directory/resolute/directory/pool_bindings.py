"""Bindings of resource pools to workspaces: what may be done with them, and what is true afterwards.

All bindings are one stream, `bindings-directory`: replacing those of a pool, and removing those of a deleted workspace,
are decisions about several of them. Which pools there are is known to the gateway, which has the configuration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import get_args

from resolute.directory.part import Part
from resolute.proto import streams
from resolute.proto.bindings import (
    BindPool,
    PoolBound,
    PoolUnbound,
    ReplacePoolBindings,
    UnbindPool,
    UnbindWorkspace,
)
from resolute.proto.message import Event

State = Enum("State", "UNBOUND BOUND")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.UNBOUND, PoolBound): State.BOUND,
    (State.BOUND, PoolUnbound): State.UNBOUND,
}
"""Of one pool and one workspace."""

BindingCommand = BindPool | UnbindPool | ReplacePoolBindings | UnbindWorkspace


@dataclass(slots=True)
class Bindings:
    """The workspaces of every pool that is bound, by the pool's name. Owned by the fold that grows it."""

    by_pool: dict[str, set[int]] = field(default_factory=dict)

    def of(self, pool: str) -> Collection[int]:
        return self.by_pool.get(pool, set())


def decide(command: BindingCommand, bindings: Bindings) -> list[Event]:
    """What is bound or unbound already is left out."""
    match command:
        case BindPool(pool, workspace_ids):
            return _bound(pool, set(workspace_ids) - set(bindings.of(pool)))
        case UnbindPool(pool, workspace_ids):
            return _unbound(pool, set(workspace_ids) & set(bindings.of(pool)))
        case ReplacePoolBindings(pool, workspace_ids):
            before, wanted = set(bindings.of(pool)), set(workspace_ids)
            return [*_unbound(pool, before - wanted), *_bound(pool, wanted - before)]
        case UnbindWorkspace(workspace_id):
            return [PoolUnbound(pool, workspace_id) for pool, ids in bindings.by_pool.items() if workspace_id in ids]


def _bound(pool: str, workspace_ids: Collection[int]) -> list[Event]:
    return [PoolBound(pool, workspace_id) for workspace_id in sorted(workspace_ids)]


def _unbound(pool: str, workspace_ids: Collection[int]) -> list[Event]:
    return [PoolUnbound(pool, workspace_id) for workspace_id in sorted(workspace_ids)]


def evolve(bindings: Bindings, event: Event) -> Bindings:
    match event:
        case PoolBound(pool, workspace_id):
            assert FLOW[_state(bindings, pool, workspace_id), type(event)] is State.BOUND
            bindings.by_pool.setdefault(pool, set()).add(workspace_id)
            return bindings
        case PoolUnbound(pool, workspace_id):
            assert FLOW[_state(bindings, pool, workspace_id), type(event)] is State.UNBOUND
            bindings.by_pool[pool].remove(workspace_id)
            if not bindings.by_pool[pool]:
                del bindings.by_pool[pool]
            return bindings
    raise AssertionError(f"not an event of bindings: {event}")


def _state(bindings: Bindings, pool: str, workspace_id: int) -> State:
    return State.BOUND if workspace_id in bindings.of(pool) else State.UNBOUND


PART = Part(
    commands=frozenset(get_args(BindingCommand)),
    stream_of=lambda command: streams.BINDING_DIRECTORY,
    initial=Bindings,
    decide=decide,
    evolve=evolve,
    ids={},
    of_workspace=UnbindWorkspace,
)
