"""The user and the group of a host that tasks run as (`agentUserGroup`), as requests and events carry it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resolute.config.pools import POSIX_ID_MAX
from resolute.proto.errors import InvalidConfig


def check_agent_user(group: Any) -> None:
    """Raises InvalidConfig unless `group` names a user and a group, each with its number; or is empty, for none."""
    if not isinstance(group, Mapping):
        raise InvalidConfig(f"agentUserGroup: expected an object; found {group!r}")
    for name, number in (("agentUser", "agentUid"), ("agentGroup", "agentGid")) if group else ():
        if not isinstance(group.get(name), str) or not group[name].strip():
            raise InvalidConfig(f"agentUserGroup.{name}: expected a name; found {group.get(name)!r}")
        value = group.get(number)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= POSIX_ID_MAX:
            raise InvalidConfig(f"agentUserGroup.{number}: expected a number from 0 to {POSIX_ID_MAX}; found {value!r}")
