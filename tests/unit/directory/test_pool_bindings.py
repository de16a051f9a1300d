"""Bindings of resource pools to workspaces: what may be done with them."""

from __future__ import annotations

from functools import reduce

from resolute.directory import pool_bindings
from resolute.directory.pool_bindings import Bindings, decide
from resolute.proto.bindings import (
    BindPool,
    PoolBound,
    PoolUnbound,
    ReplacePoolBindings,
    UnbindPool,
    UnbindWorkspace,
)
from resolute.proto.message import Event


def after(*events: Event) -> Bindings:
    return reduce(pool_bindings.evolve, events, Bindings())


def test_a_pool_is_bound_to_workspaces_besides_those_that_it_has() -> None:
    assert decide(BindPool("gpu", (3, 2, 3)), after()) == [PoolBound("gpu", 2), PoolBound("gpu", 3)]
    assert decide(BindPool("gpu", (2, 3)), after(PoolBound("gpu", 2), PoolBound("cpu", 3))) == [PoolBound("gpu", 3)]


def test_what_is_not_bound_is_not_unbound() -> None:
    before = after(PoolBound("gpu", 2), PoolBound("gpu", 3))
    assert decide(UnbindPool("gpu", (1, 3)), before) == [PoolUnbound("gpu", 3)]
    assert decide(UnbindPool("cpu", (2,)), before) == []
    assert decide(UnbindPool("gpu", (3,)), after(PoolBound("gpu", 3), PoolUnbound("gpu", 3))) == []


def test_bindings_are_replaced_as_a_whole() -> None:
    before = after(PoolBound("gpu", 1), PoolBound("gpu", 2), PoolBound("cpu", 1))
    assert decide(ReplacePoolBindings("gpu", (2, 3)), before) == [PoolUnbound("gpu", 1), PoolBound("gpu", 3)]
    assert decide(ReplacePoolBindings("gpu", ()), before) == [PoolUnbound("gpu", 1), PoolUnbound("gpu", 2)]


def test_a_deleted_workspace_takes_its_bindings_along() -> None:
    before = after(PoolBound("gpu", 1), PoolBound("cpu", 2), PoolBound("cpu", 1))
    assert decide(UnbindWorkspace(1), before) == [PoolUnbound("gpu", 1), PoolUnbound("cpu", 1)]


def test_a_pool_that_is_unbound_may_be_bound_again() -> None:
    again = after(PoolBound("gpu", 1), PoolUnbound("gpu", 1), PoolBound("gpu", 1))
    assert again.by_pool == {"gpu": {1}}
    assert after(PoolBound("gpu", 1), PoolUnbound("gpu", 1)).by_pool == {}
