"""Access tokens: long-lived credentials of a user, for scripts. The directory owns them.

All access tokens are one stream, `tokens-directory`. The text of a token is a secret, and no part of this: the gateway
keeps its hash beside the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event


class TokenEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.TOKENS.name


class TokenCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "directory"


@dataclass(frozen=True, slots=True)
class AccessTokenCreated(TokenEvent):
    sentence: ClassVar[str] = "access token {token_id} of user {user_id} was created"
    token_id: int
    user_id: int
    """Whom its bearer acts as."""
    description: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class AccessTokenDescribed(TokenEvent):
    sentence: ClassVar[str] = "access token {token_id} got another description"
    token_id: int
    description: str


@dataclass(frozen=True, slots=True)
class AccessTokenRevoked(TokenEvent):
    sentence: ClassVar[str] = "access token {token_id} was revoked"
    token_id: int


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class CreateAccessToken(TokenCommand):
    """The reply's data has `token_id`."""

    user_id: int
    description: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ChangeAccessToken(TokenCommand):
    """Refused for a token that was revoked or has expired."""

    token_id: int
    now: datetime
    description: str | None = None
    """None to leave it as it is."""
    revoke: bool = False
    """A revoked token stays revoked."""
