"""The settings of the web app that one user keeps, a stream for each user (`settings-7`).

The values are texts of the web app's own, which nothing here reads. The state knows their digests, so that it stays
small however long they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256

from resolute.directory.part import USERS_KEPT, Part
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig
from resolute.proto.identity import (
    ChangeUserSettings,
    ResetUserSettings,
    UserSetting,
    UserSettingsChanged,
    UserSettingsReset,
)
from resolute.proto.message import Event

SETTINGS_MAX = 10_000
"""How many settings a user has at most."""

State = Enum("State", "ABSENT PRESENT")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, UserSettingsChanged): State.PRESENT,
    (State.PRESENT, UserSettingsChanged): State.PRESENT,
    (State.ABSENT, UserSettingsReset): State.ABSENT,
    (State.PRESENT, UserSettingsReset): State.ABSENT,
}
"""Of the settings of one user."""

SettingsCommand = ChangeUserSettings | ResetUserSettings
Place = tuple[str, str]
"""The key and the path of a setting."""


@dataclass(frozen=True, slots=True)
class Kept:
    digest: str
    """SHA-256 of the value."""
    carried_over: bool
    """Whether it comes from an earlier release, and the user has not changed it since."""


@dataclass(slots=True)
class Settings:
    """Owned by the fold that grows it."""

    kept: dict[Place, Kept] = field(default_factory=dict)
    was_reset: bool = False
    """What an earlier release still has is older than the reset."""


def decide(command: SettingsCommand, settings: Settings) -> list[Event]:
    """Raises InvalidConfig where the user would have more settings than `SETTINGS_MAX`."""
    match command:
        case ChangeUserSettings():
            return _change(command, settings)
        case ResetUserSettings(user_id=user_id):
            return [] if settings.was_reset and not settings.kept else [UserSettingsReset(user_id)]


def _change(command: ChangeUserSettings, settings: Settings) -> list[Event]:
    """Of two values for one setting the last counts."""
    asked = {_place(one): one for one in command.settings}
    fits = _is_older if command.carried_over else _is_new
    changed = {place: one for place, one in asked.items() if fits(one, settings)}
    if not command.carried_over and len(settings.kept.keys() | changed.keys()) > SETTINGS_MAX:
        raise InvalidConfig(f"settings: a user has at most {SETTINGS_MAX:,} of them; reset them first")
    return [UserSettingsChanged(command.user_id, (*changed.values(),), command.carried_over)] if changed else []


def _is_new(setting: UserSetting, settings: Settings) -> bool:
    return settings.kept.get(_place(setting)) != _kept(setting, carried_over=False)


def _is_older(setting: UserSetting, settings: Settings) -> bool:
    """Whether a setting of an earlier release is still wanted, and not recorded yet."""
    kept = settings.kept.get(_place(setting))
    if settings.was_reset or (kept is not None and not kept.carried_over):
        return False
    return kept != _kept(setting, carried_over=True)


def evolve(settings: Settings, event: Event) -> Settings:
    after = FLOW[State.PRESENT if settings.kept else State.ABSENT, type(event)]
    match event:
        case UserSettingsChanged(settings=changed, carried_over=carried_over):
            settings.kept.update((_place(one), _kept(one, carried_over=carried_over)) for one in changed)
        case UserSettingsReset():
            settings.kept.clear()
            settings.was_reset = True
    assert (after is State.PRESENT) == bool(settings.kept), f"the settings of a user are wrong after {event}"
    return settings


def _place(setting: UserSetting) -> Place:
    return setting.key, setting.storage_path


def _kept(setting: UserSetting, *, carried_over: bool) -> Kept:
    return Kept(sha256(setting.value.encode()).hexdigest(), carried_over)


PART = Part(
    commands=frozenset({ChangeUserSettings, ResetUserSettings}),
    stream_of=lambda command: streams.SETTINGS.stream(command.user_id),
    initial=Settings,
    decide=decide,
    evolve=evolve,
    ids={},
    keep=USERS_KEPT,
)
