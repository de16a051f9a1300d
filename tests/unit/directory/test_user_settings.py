"""The settings of a user: what is changed, reset, and carried over from an earlier release."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolute.directory import user_settings
from resolute.directory.user_settings import Settings, decide, evolve
from resolute.proto.errors import InvalidConfig
from resolute.proto.identity import (
    ChangeUserSettings,
    ResetUserSettings,
    UserSetting,
    UserSettingsChanged,
    UserSettingsReset,
)
from resolute.proto.message import Event

ADA = 7


def setting(key: str, value: str = "v", path: str = "") -> UserSetting:
    return UserSetting(key, path, value)


def change(*settings: UserSetting, carried_over: bool = False) -> ChangeUserSettings:
    return ChangeUserSettings(ADA, settings, carried_over)


def changed(*settings: UserSetting, carried_over: bool = False) -> UserSettingsChanged:
    return UserSettingsChanged(ADA, settings, carried_over)


def after(*events: Event) -> Settings:
    return reduce(evolve, events, Settings())


def test_only_what_is_new_is_written() -> None:
    state = after(changed(setting("a"), setting("b")))
    asked = change(setting("a"), setting("b", "other"), setting("b", path="of a page"))
    assert decide(asked, state) == [changed(setting("b", "other"), setting("b", path="of a page"))]
    assert decide(change(setting("a")), state) == []


def test_of_two_values_for_one_setting_the_last_counts() -> None:
    assert decide(change(setting("a", "1"), setting("a", "2")), Settings()) == [changed(setting("a", "2"))]


def test_a_reset_takes_all_of_them_away() -> None:
    state = after(changed(setting("a")), UserSettingsReset(ADA))
    assert state.kept == {}
    assert decide(ResetUserSettings(ADA), state) == []
    assert decide(change(setting("a")), state) == [changed(setting("a"))]


def test_the_first_reset_is_written_even_where_there_is_nothing_so_that_older_settings_stay_away() -> None:
    assert decide(ResetUserSettings(ADA), Settings()) == [UserSettingsReset(ADA)]
    assert decide(change(setting("a"), carried_over=True), after(UserSettingsReset(ADA))) == []


def test_what_an_earlier_release_kept_is_carried_over_until_the_user_changes_it() -> None:
    state = after(changed(setting("mine", "new")), changed(setting("old"), carried_over=True))
    asked = change(setting("mine"), setting("old"), setting("older"), carried_over=True)
    assert decide(asked, state) == [changed(setting("older"), carried_over=True)]
    again = change(setting("old", "written during the upgrade"), carried_over=True)
    assert decide(again, state) == [changed(*again.settings, carried_over=True)]
    assert decide(change(setting("old")), state) == [changed(setting("old"))], "now the user has said so"


def test_a_user_has_a_limited_number_of_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_settings, "SETTINGS_MAX", 2)
    state = after(changed(setting("a"), setting("b")))
    with pytest.raises(InvalidConfig, match="settings: a user has at most 2 of them; reset them first"):
        decide(change(setting("c")), state)
    assert decide(change(setting("a", "2")), state) == [changed(setting("a", "2"))]
    assert decide(change(setting("c"), carried_over=True), state), "what was there before is not refused"


SETTINGS = st.builds(setting, st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from(["", "/p"]))


@given(st.lists(st.lists(SETTINGS, max_size=3), max_size=10))
def test_of_requests_of_several_browsers_in_any_order_every_setting_has_its_last_value(
    requests: list[list[UserSetting]],
) -> None:
    state = Settings()
    shown: dict[tuple[str, str], str] = {}
    expected: dict[tuple[str, str], str] = {}
    for settings in requests:
        for event in decide(change(*settings), state):
            state = evolve(state, event)
            assert isinstance(event, UserSettingsChanged)
            shown.update({(one.key, one.storage_path): one.value for one in event.settings})
        expected.update({(one.key, one.storage_path): one.value for one in settings})
    assert shown == expected
    assert state.kept.keys() == expected.keys()
