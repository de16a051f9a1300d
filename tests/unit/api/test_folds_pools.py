"""What the gateway's rows of agents and slots come to."""

from __future__ import annotations

from resolute.api.pools.projection import AGENTS, BINDINGS, PROJECTION, SLOTS, Agent, Binding, Slot
from resolute.proto.bindings import PoolBound, PoolUnbound
from resolute.proto.pool import AgentDisabled, AgentEnabled, AgentJoined, AgentLost, SlotDisabled, SlotEnabled
from resolute.proto.pool import Slot as JoinedSlot
from tests.unit.api.folding import Folding, at, columns


def story() -> Folding:
    return Folding(PROJECTION, "pool-default")


def joined(*slots: int, host: str = "host-1", brand: str = "A100") -> AgentJoined:
    return AgentJoined("agent-1", tuple(JoinedSlot(n, "cuda", brand, f"GPU-{n}") for n in slots), host, "0.3")


def test_an_agent_joins_with_its_slots() -> None:
    fold = story()
    fold.given(joined(0, 1))
    agent = Agent("agent-1", "default", "host-1", "0.3", enabled=True, draining=False, alive=True, joined_at=at(1))
    assert fold.all(AGENTS) == [agent]
    assert fold.all(SLOTS) == [
        Slot("agent-1", "default", n, "cuda", "A100", f"GPU-{n}", enabled=True, draining=False) for n in (0, 1)
    ]


def test_an_agent_that_is_lost_keeps_its_row_and_its_slots() -> None:
    fold = story()
    fold.given(joined(0), AgentLost("agent-1", "silent"))
    assert fold.row(AGENTS, "agent-1", "default").alive is False
    assert fold.count() == {"agents": 1, "slots": 1, "bindings": 0}


def test_an_agent_that_joins_again_is_as_disabled_as_it_was() -> None:
    fold = story()
    fold.given(joined(0), AgentDisabled("agent-1", drain=True), AgentLost("agent-1", "silent"))
    fold.given(joined(0, host="host-2"))
    agent = fold.row(AGENTS, "agent-1", "default")
    assert columns(agent, "host", "enabled", "draining", "alive", "joined_at") == ("host-2", False, True, True, at(4))


def test_a_slot_that_its_agent_still_has_is_as_disabled_as_it_was_and_the_others_are_gone() -> None:
    fold = story()
    fold.given(joined(0, 1), SlotDisabled("agent-1", 0, drain=True), SlotDisabled("agent-1", 1, drain=False))
    fold.given(joined(0, 2, brand="H100"))
    assert [columns(slot, "slot_id", "brand", "enabled", "draining") for slot in fold.all(SLOTS)] == [
        (0, "H100", False, True),
        (2, "H100", True, False),
    ]
    fold.given(joined(0, 1))
    assert fold.row(SLOTS, "agent-1", "default", 1).enabled is True, "it came back as a new slot"


def test_agents_and_slots_are_disabled_and_enabled() -> None:
    fold = story()
    fold.given(joined(0), AgentDisabled("agent-1", drain=False), SlotDisabled("agent-1", 0, drain=True))
    assert columns(fold.row(AGENTS, "agent-1", "default"), "enabled", "draining") == (False, False)
    assert columns(fold.row(SLOTS, "agent-1", "default", 0), "enabled", "draining") == (False, True)
    fold.given(AgentEnabled("agent-1"), SlotEnabled("agent-1", 0))
    assert columns(fold.row(AGENTS, "agent-1", "default"), "enabled", "draining") == (True, False)
    assert columns(fold.row(SLOTS, "agent-1", "default", 0), "enabled", "draining") == (True, False)


def test_an_agent_has_rows_of_its_own_in_each_pool() -> None:
    fold = story()
    fold.given(joined(0, 1))
    fold.given(joined(1, 2), stream="pool-gpus-a100")
    fold.given(AgentLost("agent-1", "it is in another pool"))
    assert [columns(agent, "pool", "alive") for agent in fold.all(AGENTS)] == [("default", False), ("gpus-a100", True)]
    assert [columns(slot, "pool", "slot_id") for slot in fold.all(SLOTS)] == [
        ("default", 0),
        ("default", 1),
        ("gpus-a100", 1),
        ("gpus-a100", 2),
    ]


def test_what_concerns_an_agent_or_a_slot_that_is_not_known_changes_nothing() -> None:
    fold = story()
    fold.given(AgentLost("agent-1", "silent"), AgentEnabled("agent-1"), AgentDisabled("agent-1", drain=True))
    fold.given(SlotEnabled("agent-1", 0), SlotDisabled("agent-1", 0, drain=True))
    assert fold.count() == {"agents": 0, "slots": 0, "bindings": 0}


def test_a_pool_has_a_row_for_each_workspace_that_it_is_bound_to() -> None:
    fold = Folding(PROJECTION, "bindings-directory")
    fold.given(PoolBound("gpu", 1), PoolBound("gpu", 2), PoolUnbound("gpu", 1))
    assert fold.all(BINDINGS) == [Binding("gpu", 2)]
