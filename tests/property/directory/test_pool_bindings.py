"""Bindings of pools: after any commands, what is bound is what a plain account of the commands says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from resolute.directory import pool_bindings
from resolute.directory.pool_bindings import BindingCommand, Bindings, decide
from resolute.proto.bindings import BindPool, ReplacePoolBindings, UnbindPool, UnbindWorkspace

pools = st.sampled_from(["gpu", "cpu"])
workspaces = st.lists(st.integers(1, 4), max_size=4).map(tuple)
commands = st.one_of(
    st.builds(BindPool, pools, workspaces),
    st.builds(UnbindPool, pools, workspaces),
    st.builds(ReplacePoolBindings, pools, workspaces),
    st.builds(UnbindWorkspace, st.integers(1, 4)),
)


def account(bound: set[tuple[str, int]], command: BindingCommand) -> set[tuple[str, int]]:
    match command:
        case BindPool(pool, ids):
            return bound | {(pool, one) for one in ids}
        case UnbindPool(pool, ids):
            return bound - {(pool, one) for one in ids}
        case ReplacePoolBindings(pool, ids):
            return {pair for pair in bound if pair[0] != pool} | {(pool, one) for one in ids}
        case UnbindWorkspace(workspace_id):
            return {pair for pair in bound if pair[1] != workspace_id}


@given(st.lists(commands, max_size=12))
def test_after_any_commands_the_bindings_are_what_was_asked_for(given_commands: list[BindingCommand]) -> None:
    bindings, expected = Bindings(), set[tuple[str, int]]()
    for command in given_commands:
        for event in decide(command, bindings):
            bindings = pool_bindings.evolve(bindings, event)
        expected = account(expected, command)
        assert decide(command, bindings) == [], "the same command again changes nothing"
        assert {(pool, one) for pool, ids in bindings.by_pool.items() for one in ids} == expected
