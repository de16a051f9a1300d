"""Groups and users, as far as several commands need them: by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from resolute.cli.errors import CliError
from resolute.cli.session import Session

GROUPS = "/api/v1/groups"
PAGE_MOST = 500


def group_id(opened: Session, name: str) -> int:
    """Raises CliError where no group has exactly this name."""
    found = next(opened.searched(f"{GROUPS}/search", "groups", {"name": name}, limit=1), None)
    if found is None or not name:
        raise CliError(f"group {name!r} not found; `det user-group list` shows those there are")
    return int(found["group"]["groupId"])


def group_names(opened: Session) -> dict[int, str]:
    """By id."""
    groups = (one["group"] for one in opened.searched(f"{GROUPS}/search", "groups", limit=PAGE_MOST))
    return {group["groupId"]: group["name"] for group in groups}


def user(opened: Session, name: str) -> dict[str, Any]:
    found: dict[str, Any] = opened.get(f"/api/v1/users/{name}/by-username")["user"]
    return found


def user_ids(opened: Session, names: Iterable[str]) -> list[int]:
    """Each name may be several, parted by commas."""
    each = [name.strip() for several in names for name in several.split(",") if name.strip()]
    return [user(opened, name)["id"] for name in dict.fromkeys(each)]
