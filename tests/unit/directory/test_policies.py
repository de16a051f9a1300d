"""Configuration policies: what may be done with them."""

from __future__ import annotations

from functools import reduce

import pytest

from resolute.directory import policies
from resolute.directory.policies import Policies, decide
from resolute.proto.errors import InvalidConfig
from resolute.proto.message import Event
from resolute.proto.policies import (
    CLUSTER,
    ConfigPoliciesDeleted,
    ConfigPoliciesSet,
    DeleteConfigPolicies,
    DeletePoliciesOfWorkspace,
    SetConfigPolicies,
)

LIMIT = {"priority_limit": 50}
OF_CLUSTER = ConfigPoliciesSet(CLUSTER, "EXPERIMENT", {"max_restarts": 1}, {})
OF_VISION = ConfigPoliciesSet(2, "EXPERIMENT", {}, LIMIT)
TASKS_OF_VISION = ConfigPoliciesSet(2, "NTSC", {}, LIMIT)


def after(*events: Event) -> Policies:
    return reduce(policies.evolve, events, Policies())


def test_policies_are_set_in_the_place_of_those_before_and_the_same_ones_change_nothing() -> None:
    new = SetConfigPolicies(2, "EXPERIMENT", {}, LIMIT)
    assert decide(new, after()) == [OF_VISION]
    assert decide(new, after(OF_VISION)) == []
    assert decide(new, after(OF_CLUSTER)) == [OF_VISION], "the cluster's are others"
    other = ConfigPoliciesSet(2, "EXPERIMENT", {"debug": True}, {})
    assert decide(new, after(OF_VISION, other)) == [OF_VISION]


def test_policies_are_deleted_and_what_is_not_set_need_not_be() -> None:
    delete = DeleteConfigPolicies(2, "EXPERIMENT")
    assert decide(delete, after(OF_VISION)) == [ConfigPoliciesDeleted(2, "EXPERIMENT")]
    assert decide(delete, after(OF_CLUSTER, TASKS_OF_VISION)) == []
    again = after(OF_VISION, ConfigPoliciesDeleted(2, "EXPERIMENT"))
    assert decide(delete, again) == []
    assert decide(SetConfigPolicies(2, "EXPERIMENT", {}, LIMIT), again) == [OF_VISION]


def test_only_experiments_have_an_invariant_configuration() -> None:
    with pytest.raises(InvalidConfig, match="invariant_config: expected none for NTSC"):
        decide(SetConfigPolicies(2, "NTSC", {"debug": True}, {}), after())
    with pytest.raises(InvalidConfig, match="workloadType: expected EXPERIMENT or NTSC; found 'TRIAL'"):
        decide(SetConfigPolicies(2, "TRIAL", {}, {}), after())


def test_policies_are_deleted_with_their_workspace() -> None:
    all_of_them = after(OF_CLUSTER, OF_VISION, TASKS_OF_VISION)
    assert decide(DeletePoliciesOfWorkspace(2), all_of_them) == [
        ConfigPoliciesDeleted(2, "EXPERIMENT"),
        ConfigPoliciesDeleted(2, "NTSC"),
    ]
    assert decide(DeletePoliciesOfWorkspace(2), after(OF_CLUSTER)) == []
