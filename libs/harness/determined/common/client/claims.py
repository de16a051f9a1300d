"""Which user a client acts as, and where its password or token comes from.

In this order: the user that is asked for; DET_USER with DET_PASS; the active user of the token store; DET_USER with
DET_USER_TOKEN, as inside a task; and at last the user `determined` with an empty password.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from determined.common.client.tokens import Logins

DEFAULT_USER = "determined"


@dataclass(frozen=True, slots=True)
class Claim:
    """The user that a client acts as, with the password or token, where these were given; otherwise the client
    asks."""

    user: str
    password: str | None = None
    token: str | None = None


def claim(given: str | None, logins: Logins, environment: Mapping[str, str] = os.environ) -> Claim:
    name, secret = environment.get("DET_USER") or None, environment.get("DET_PASS")
    if given:
        known = secret if given == name else None
        return Claim(given, _blank_for_default(given, known), logins.tokens.get(given))
    if name and secret is not None:
        return Claim(name, secret, logins.tokens.get(name))
    if logins.active_user:
        active = logins.active_user
        return Claim(active, _blank_for_default(active, None), logins.tokens.get(active))
    if name and (token := environment.get("DET_USER_TOKEN")):
        return Claim(name, token=token)
    return Claim(DEFAULT_USER, "", logins.tokens.get(DEFAULT_USER))


def _blank_for_default(user: str, known: str | None) -> str | None:
    return "" if known is None and user == DEFAULT_USER else known
