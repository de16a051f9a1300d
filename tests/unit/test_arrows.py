"""Noting arrows: what a fold walks is noted, what it merely looks at is not, and tables are as they were afterwards."""

from __future__ import annotations

from functools import reduce

from resolute.checkpoint import registry
from resolute.proto.checkpoint import CheckpointAnnounced
from tests import arrows

ANNOUNCED = CheckpointAnnounced("00000000-0000-4000-8000-00000000000a", 7, 1, "7.1", "7.1.1", {})


def test_a_fold_walks_its_arrows() -> None:
    before = registry.FLOW
    with arrows.noted() as walked:
        assert (registry.State.ABSENT, CheckpointAnnounced) in registry.FLOW
        assert walked == set()
        reduce(registry.evolve, [ANNOUNCED], registry.Registry())
        assert walked == {"registry: ABSENT -CheckpointAnnounced"}
    assert registry.FLOW is before


def test_every_life_is_noted() -> None:
    tables = {module.__name__.rpartition(".")[2] for module in arrows.tables()}
    assert tables >= {"experiment", "trial", "allocation", "registry", "fleet"}
    assert len(arrows.all_arrows()) == sum(len(module.FLOW) for module in arrows.tables())


def test_what_is_explained_is_there_and_has_a_reason() -> None:
    assert arrows.explained().keys() <= arrows.all_arrows()
    assert all(arrows.explained().values())
