"""Configuration policies: what they may say, and what submissions and changes are held to."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.config.policies import Policies, Policy, read_policy
from resolute.proto.errors import InvalidConfig

PRIORITY, MAX_SLOTS = ("resources", "priority"), ("resources", "max_slots")


def constraints(max_slots: int | None = None, priority: int | None = None) -> dict[str, Any]:
    return {"resources": {"max_slots": max_slots}, "priority_limit": priority}


def refused(given: dict[str, Any], *, invariants: bool = True) -> str:
    with pytest.raises(InvalidConfig) as refusal:
        read_policy(given, "the cluster", invariants=invariants)
    return str(refusal.value)


def broken(found: Policies, **resources: Any) -> str:
    with pytest.raises(InvalidConfig) as refusal:
        found.check({"slots_per_trial": 1, "max_slots": None, "priority": 42, **resources})
    return str(refusal.value)


def test_a_policy_is_read_and_written_without_what_it_does_not_say() -> None:
    given = {"invariant_config": {"max_restarts": 1}, "constraints": constraints(4)}
    written = {"invariant_config": {"max_restarts": 1}, "constraints": {"resources": {"max_slots": 4}}}
    assert read_policy(given, "the cluster", invariants=True).written() == written
    assert read_policy({"constraints": constraints()}, "the cluster", invariants=False).written() == {}


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"invariant": {}}, "invariant: unknown field. Did you mean"),
        ({"invariant_config": {"max_restart": 1}}, "invariant_config.max_restart: unknown field."),
        ({"invariant_config": [1]}, "invariant_config: expected"),
        ({"invariant_config": {"project": "p"}}, "invariant_config.project: not supported"),
        ({"constraints": {"max_slots": 1}}, "constraints.max_slots: unknown field."),
        ({"constraints": {"priority_limit": 100}}, "constraints.priority_limit: expected a whole number from 1 to 99"),
        ({"constraints": {"resources": {"max_slots": -1}}}, "constraints.resources.max_slots: expected"),
    ],
)
def test_what_is_wrong_in_a_policy_is_refused_with_its_place(given: dict[str, Any], place: str) -> None:
    assert refused(given).startswith(place)


def test_tasks_have_constraints_only() -> None:
    assert refused({"invariant_config": {}}, invariants=False).startswith("invariant_config: not supported: ")


def test_invariants_are_laid_on_with_the_clusters_last() -> None:
    cluster, own = Policy("the cluster", {"debug": True}), Policy("workspace 'w'", {"debug": False})
    assert Policies([cluster, own]).invariants == ({"debug": False}, {"debug": True})
    assert Policies([cluster, Policy("workspace 'w'")]).invariants == ({"debug": True},)


def test_limits_of_the_cluster_take_the_place_of_the_workspaces_each_by_itself() -> None:
    found = Policies(
        [
            Policy("the cluster", constraints=constraints(max_slots=4)),
            Policy("workspace 'w'", constraints=constraints(max_slots=2, priority=50)),
        ]
    )
    found.check({"slots_per_trial": 4, "max_slots": 4, "priority": 50})
    too_many = broken(found, slots_per_trial=5)
    assert too_many.startswith("resources.slots_per_trial: 5 exceeds limit set by admin [4]: submitted workload failed")
    assert "config policies of the cluster; ask for at most 4" in too_many
    assert broken(found, slots_per_trial={"min": 1, "max": 8}).startswith("resources.slots_per_trial: 8 exceeds")
    assert broken(found, max_slots=5).startswith("resources.max_slots: 5 exceeds limit set by admin [4]")
    urgent = broken(found, priority=49)
    assert "submitted workload failed priority constraint" in urgent
    assert "config policies of workspace 'w'; choose 50 to 99" in urgent


def test_an_invariant_against_a_constraint_is_refused() -> None:
    above = Policy("the cluster", constraints=constraints(max_slots=4, priority=50))
    for resources in ({"slots_per_trial": 8}, {"max_slots": 8}, {"priority": 1}):
        with pytest.raises(InvalidConfig, match=r"^invalid experiment config policy: resources\."):
            Policies([above, Policy("these policies", {"resources": resources})]).check_invariants()
    Policies([above, Policy("these policies", {"resources": {"priority": 50, "max_slots": 4}})]).check_invariants()
    Policies([Policy("these policies", {"debug": True}, constraints(max_slots=0))]).check_invariants()


def test_a_later_change_is_held_to_invariants_and_to_limits() -> None:
    set_there = Policy("the cluster", {"resources": {"priority": 60, "max_slots": 4}, "labels": ["set"]})
    limited = Policy("workspace 'w'", constraints=constraints(max_slots=8, priority=50))
    both, only_limits = Policies([set_there, limited]), Policies([limited])
    both.check_change(PRIORITY, 60, "priority")
    both.check_change(("labels",), ["other"], "labels")
    only_limits.check_change(MAX_SLOTS, None, "resources.maxSlots")
    only_limits.check_change(MAX_SLOTS, 8, "resources.maxSlots")
    for found, path, value, text in (
        (both, PRIORITY, 70, "f: priority set by invariant config: priority cannot be modified: .* is 60; found 70"),
        (both, MAX_SLOTS, None, "f: max slots is already set in an invariant config policy: .* is 4; found None"),
        (only_limits, PRIORITY, 49, "f: 49 is below the limit 50: submitted workload failed priority constraint"),
        (only_limits, MAX_SLOTS, 9, r"f: 9 exceeds limit set by admin \[8\]"),
    ):
        with pytest.raises(InvalidConfig, match=text):
            found.check_change(path, value, "f")
