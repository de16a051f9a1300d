"""Users: what may be done with them."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from resolute.directory import users
from resolute.directory.users import Users
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.identity import (
    ActivateUsers,
    ChangePassword,
    ChangeUser,
    CreateUser,
    PasswordChanged,
    UserChanged,
    UserCreated,
)
from resolute.proto.message import Event


def some_users() -> Users:
    events = [UserCreated(1, "admin", True, True), UserCreated(2, "bob", False, True), PasswordChanged(2, blank=False)]
    return reduce(users.evolve, events, Users())


def create(username: str, **fields: Any) -> list[Event]:
    return users.decide(CreateUser(username, **{"admin": False, "active": True, **fields}), some_users())


def change(user_id: int, **changes: Any) -> list[Event]:
    return users.decide(ChangeUser(user_id, changes), some_users())


def test_a_new_cluster_has_two_users_and_an_old_one_is_left_as_it_is() -> None:
    assert [event.username for event in users.seed(Users()) if isinstance(event, UserCreated)] == [
        "admin",
        "determined",
    ]
    assert users.seed(some_users()) == ()


def test_a_new_user_gets_the_next_number() -> None:
    assert create("eve") == [UserCreated(3, "eve", False, True)]


@pytest.mark.parametrize("name", ["bob", "Bob"])
def test_two_users_never_share_a_name(name: str) -> None:
    with pytest.raises(Refused, match="exists already"):
        create(name)


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "tab\t"])
def test_a_name_that_will_not_do_is_told_why(name: str) -> None:
    with pytest.raises(InvalidConfig, match="username"):
        create(name)


def test_only_what_changes_is_written() -> None:
    assert change(2, active=True) == []
    assert change(2, active=False, admin=False) == [UserChanged(2, {"active": False})]
    with pytest.raises(NotFound):
        change(9, active=False)


def test_the_last_administrator_stays_one() -> None:
    for changes in ({"admin": False}, {"active": False}):
        with pytest.raises(Refused, match="no active administrator"):
            change(1, **changes)


def test_several_users_are_deactivated_at_once_and_whoever_cannot_be_is_named() -> None:
    found = users.evolve(some_users(), UserChanged(2, {"admin": True}))
    events, refused = users.activate(ActivateUsers((1, 2, 9, 1), active=False), found)
    assert events == [UserChanged(1, {"active": False})]
    assert refused.keys() == {2, 9}
    assert "no active administrator would be left" in refused[2]
    assert refused[9] == "user 9 not found"
    assert found.get(1).active, "deciding changes nothing"


def test_a_name_may_have_a_dollar_sign_as_accounts_of_machines_do() -> None:
    assert create("node-7$") == [UserCreated(3, "node-7$", False, True)]


@pytest.mark.parametrize("name", ["Admin", "determined", " ADMIN ", "Determined"])
def test_no_other_user_is_displayed_under_the_name_of_a_first_user(name: str) -> None:
    with pytest.raises(InvalidConfig, match="displayName"):
        change(2, display_name=name)
    with pytest.raises(InvalidConfig, match="displayName"):
        create("eve", display_name=name)


def test_a_first_user_may_be_displayed_under_its_own_name() -> None:
    assert change(1, display_name="Admin") == [UserChanged(1, {"display_name": "Admin"})]


def test_a_new_password_is_a_fact_and_what_it_is_is_not() -> None:
    assert users.decide(ChangePassword(2, blank=False), some_users()) == [PasswordChanged(2, blank=False)]
    with pytest.raises(NotFound):
        users.decide(ChangePassword(9, blank=False), some_users())


LINK = {"agentUid": 1001, "agentUser": "ada", "agentGid": 2001, "agentGroup": "ml"}


def test_a_user_is_made_with_the_user_that_tasks_run_as_in_one_decision() -> None:
    changed = UserChanged(3, {"agent_user_group": LINK})
    assert create("ada", agent_user_group=LINK) == [UserCreated(3, "ada", False, True), changed]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"agentUser": ""}, "agentUser: expected a name; found ''"),
        ({"agentGroup": " "}, "agentGroup: expected a name"),
        ({"agentGroup": None}, "agentGroup: expected a name"),
        ({"agentUid": None}, "agentUid: expected a number"),
        ({"agentUid": -1}, "agentUid: expected a number"),
        ({"agentGid": 2**32}, "agentGid: expected a number"),
        ({"agentGid": "ml"}, "agentGid: expected a number"),
    ],
)
def test_a_task_runs_as_a_user_and_a_group_that_have_names_and_numbers(wrong: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidConfig, match=f"agentUserGroup.{field}"):
        change(2, agent_user_group={**LINK, **wrong})
    with pytest.raises(InvalidConfig, match=f"agentUserGroup.{field}"):
        create("ada", agent_user_group={**LINK, **wrong})
    assert change(2, agent_user_group=LINK)
    assert change(2, agent_user_group={})
