"""Users, workspaces and passwords: what may be done with them."""

from __future__ import annotations

import pytest

from resolute.api import identity, passwords
from resolute.api.identity import Users, Workspaces, evolve_users, evolve_workspaces
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.identity import ProjectCreated, UserChanged, UserCreated, WorkspaceCreated


def some_users() -> Users:
    users = Users()
    for event in (UserCreated(1, "admin", True, True), UserCreated(2, "bob", False, True)):
        users = evolve_users(users, event)
    return users


def test_a_new_user_gets_the_next_number() -> None:
    [event] = identity.create_user(some_users(), "eve", admin=False, active=True)
    assert event == UserCreated(3, "eve", False, True)


@pytest.mark.parametrize("name", ["bob", "Bob"])
def test_two_users_never_share_a_name(name: str) -> None:
    with pytest.raises(Refused, match="exists already"):
        identity.create_user(some_users(), name, admin=False, active=True)


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "tab\t"])
def test_a_name_that_will_not_do_is_told_why(name: str) -> None:
    with pytest.raises(InvalidConfig, match="username"):
        identity.create_user(some_users(), name, admin=False, active=True)


def test_only_what_changes_is_written() -> None:
    assert identity.change_user(some_users(), 2, {"active": True}) == []
    [event] = identity.change_user(some_users(), 2, {"active": False, "admin": False})
    assert event == UserChanged(2, {"active": False})
    with pytest.raises(NotFound):
        identity.change_user(some_users(), 9, {"active": False})


def test_the_last_administrator_stays_one() -> None:
    for changes in ({"admin": False}, {"active": False}):
        with pytest.raises(Refused, match="no active administrator"):
            identity.change_user(some_users(), 1, changes)


def test_a_name_may_have_a_dollar_sign_as_accounts_of_machines_do() -> None:
    [event] = identity.create_user(some_users(), "node-7$", admin=False, active=True)
    assert event == UserCreated(3, "node-7$", False, True)


@pytest.mark.parametrize("name", ["Admin", "determined", " ADMIN ", "Determined"])
def test_nobody_else_is_shown_under_the_name_of_a_first_user(name: str) -> None:
    with pytest.raises(InvalidConfig, match="displayName"):
        identity.change_user(some_users(), 2, {"display_name": name})
    with pytest.raises(InvalidConfig, match="displayName"):
        identity.create_user(some_users(), "eve", admin=False, active=True, display_name=name)


def test_a_first_user_may_be_shown_under_its_own_name() -> None:
    [event] = identity.change_user(some_users(), 1, {"display_name": "Admin"})
    assert event == UserChanged(1, {"display_name": "Admin"})


LINK = {"agentUid": 1001, "agentUser": "ada", "agentGid": 2001, "agentGroup": "ml"}


@pytest.mark.parametrize(
    ("change", "field"),
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
def test_a_task_runs_as_a_user_and_a_group_that_have_names_and_numbers(change: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidConfig, match=f"agentUserGroup.{field}"):
        identity.change_user(some_users(), 2, {"agent_user_group": {**LINK, **change}})
    assert identity.change_user(some_users(), 2, {"agent_user_group": LINK})
    assert identity.change_user(some_users(), 2, {"agent_user_group": {}})


def some_workspaces() -> Workspaces:
    workspaces = Workspaces()
    for event in (
        WorkspaceCreated(1, "Uncategorized", 1, immutable=True),
        ProjectCreated(1, 1, "Uncategorized", "", 1, immutable=True),
        WorkspaceCreated(2, "vision", 2),
    ):
        workspaces = evolve_workspaces(workspaces, event)
    return workspaces


def test_projects_belong_to_a_workspace_that_takes_them() -> None:
    assert identity.create_project(some_workspaces(), 2, "digits", "", 2) == [ProjectCreated(2, 2, "digits", "", 2)]
    with pytest.raises(Refused):
        identity.create_project(some_workspaces(), 1, "digits", "", 2)
    with pytest.raises(NotFound):
        identity.create_project(some_workspaces(), 5, "digits", "", 2)
    with pytest.raises(Refused, match="of that name exists"):
        identity.create_workspace(some_workspaces(), "vision", 2)
    with pytest.raises(InvalidConfig, match="name"):
        identity.create_workspace(some_workspaces(), " ", 2)


def test_a_password_fits_in_either_form_and_its_hash_tells_nothing() -> None:
    form = passwords.client_form("secret", hashed=False)
    kept = passwords.hash_of(form)
    assert kept is not None
    assert "secret" not in kept
    assert passwords.matches(passwords.client_form(form, hashed=True), kept)
    assert not passwords.matches(passwords.client_form("Secret", hashed=False), kept)
    assert not passwords.matches("", kept)
    assert passwords.matches("", passwords.hash_of(""))
    assert not passwords.matches("", passwords.NONE)
    assert not passwords.matches(form, passwords.NONE)
    assert not passwords.matches(form, None)
