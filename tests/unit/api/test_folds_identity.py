"""What the gateway's rows of users and their settings come to."""

from __future__ import annotations

from datetime import timedelta

from resolute.api.identity.projection import PROJECTION, USER_SETTINGS, USERS, User
from resolute.proto.identity import (
    PasswordChanged,
    SessionClosed,
    SessionOpened,
    UserChanged,
    UserCreated,
    UserSetting,
    UserSettingsChanged,
    UserSettingsReset,
)
from tests.unit.api.folding import Folding, at, columns


def story() -> Folding:
    return Folding(PROJECTION, "user-directory")


def with_ada() -> Folding:
    fold = story()
    fold.given(UserCreated(3, "ada", admin=False, active=True, display_name="Ada"))
    return fold


def settings(fold: Folding) -> list[tuple[object, ...]]:
    return [columns(setting, "user_id", "key", "storage_path", "value") for setting in fold.all(USER_SETTINGS)]


def test_a_new_user_has_a_blank_password_and_never_signed_in() -> None:
    assert with_ada().all(USERS) == [
        User(3, "ada", admin=False, active=True, display_name="Ada", remote=False, modified_at=at(1))
    ]
    assert columns(with_ada().row(USERS, 3), "blank_password", "last_auth_at", "agent_user_group") == (True, None, None)


def test_a_user_is_changed_by_the_columns_that_are_named_and_no_others() -> None:
    fold = with_ada()
    group = {"agentUid": 1000, "agentUser": "ada"}
    fold.given(UserChanged(3, {"username": "countess", "admin": True, "agent_user_group": group, "shoe_size": 38}))
    assert columns(fold.row(USERS, 3), "username", "admin", "active", "display_name", "agent_user_group") == (
        *("countess", True, True, "Ada"),
        group,
    )
    assert fold.row(USERS, 3).modified_at == at(2)


def test_a_change_without_columns_of_this_release_is_a_change_all_the_same() -> None:
    fold = with_ada()
    fold.given(UserChanged(3, {"shoe_size": 38}))
    assert fold.row(USERS, 3).modified_at == at(2)


def test_a_password_that_is_set_is_no_longer_blank() -> None:
    fold = with_ada()
    fold.given(PasswordChanged(3, blank=False))
    assert columns(fold.row(USERS, 3), "blank_password", "modified_at") == (False, at(2))


def test_signing_in_is_shown_and_is_no_modification() -> None:
    fold = with_ada()
    fold.given(SessionOpened(3, 1, at(2) + timedelta(days=1)), SessionClosed(3, 1), stream="user-3")
    assert columns(fold.row(USERS, 3), "last_auth_at", "modified_at") == (at(2), at(1))


def test_settings_with_a_new_value_are_set_and_the_others_stay() -> None:
    fold = story()
    fold.given(UserSettingsChanged(3, (UserSetting("theme", "", "dark"), UserSetting("theme", "jobs", "light"))))
    fold.given(UserSettingsChanged(3, (UserSetting("theme", "", "light"),)))
    assert settings(fold) == [(3, "theme", "", "light"), (3, "theme", "jobs", "light")]


def test_settings_are_reset_for_their_user_alone() -> None:
    fold = story()
    fold.given(UserSettingsChanged(3, (UserSetting("theme", "", "dark"), UserSetting("columns", "jobs", "4"))))
    fold.given(UserSettingsChanged(4, (UserSetting("theme", "", "dark"),)))
    fold.given(UserSettingsReset(3))
    assert settings(fold) == [(4, "theme", "", "dark")]


def test_what_concerns_a_user_who_is_not_known_changes_nothing() -> None:
    fold = story()
    fold.given(UserChanged(3, {"admin": True}), PasswordChanged(3, blank=True), SessionOpened(3, 1, at(9)))
    fold.given(UserSettingsReset(3))
    assert fold.count() == {"users": 0, "user_settings": 0}
