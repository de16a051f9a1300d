"""Access tokens: what may be done with them, and what is true afterwards.

All of them are one stream, `tokens-directory`. The directory knows no token's text: it decides whose a token is, until
when it counts, and that it is revoked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from resolute.directory.part import Part
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.message import Event
from resolute.proto.tokens import (
    AccessTokenCreated,
    AccessTokenDescribed,
    AccessTokenRevoked,
    ChangeAccessToken,
    CreateAccessToken,
)

DESCRIPTION_CHARS_MAX = 1_000

State = Enum("State", "ABSENT LIVE REVOKED")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, AccessTokenCreated): State.LIVE,
    (State.LIVE, AccessTokenDescribed): State.LIVE,
    (State.LIVE, AccessTokenRevoked): State.REVOKED,
}
"""Of one access token. Its expiry is no event: it follows from the clock."""

TokenCommand = CreateAccessToken | ChangeAccessToken


@dataclass(slots=True)
class Token:
    """Owned by the fold that grows it."""

    description: str
    expires_at: datetime
    state: State = State.LIVE


@dataclass(slots=True)
class Tokens:
    """Every token there ever was, by id. Owned by the fold that grows it."""

    by_id: dict[int, Token] = field(default_factory=dict)


def decide(command: TokenCommand, tokens: Tokens) -> list[Event]:
    """Raises InvalidConfig for a description that is too long, NotFound, and Refused for a token that is over."""
    match command:
        case CreateAccessToken(user_id, description, created_at, expires_at):
            _check(description)
            number = max(tokens.by_id, default=0) + 1
            return [AccessTokenCreated(number, user_id, description, created_at, expires_at)]
        case ChangeAccessToken():
            return _change(command, tokens)


def _change(command: ChangeAccessToken, tokens: Tokens) -> list[Event]:
    token = tokens.by_id.get(command.token_id)
    if token is None:
        raise NotFound(f"Token with id: {command.token_id} not found")
    if token.state is State.REVOKED or token.expires_at <= command.now:
        why = "it is revoked" if token.state is State.REVOKED else "it has expired"
        raise Refused(f"unable to update inactive token with ID {command.token_id}: {why}; create another one")
    changes: list[Event] = []
    if command.description is not None and command.description != token.description:
        _check(command.description)
        changes.append(AccessTokenDescribed(command.token_id, command.description))
    if command.revoke:
        changes.append(AccessTokenRevoked(command.token_id))
    return changes


def _check(description: str) -> None:
    if len(description) > DESCRIPTION_CHARS_MAX:
        raise InvalidConfig(
            f"description: expected at most {DESCRIPTION_CHARS_MAX:,} characters; found {len(description):,}"
        )


def evolve(tokens: Tokens, event: Event) -> Tokens:
    assert isinstance(event, AccessTokenCreated | AccessTokenDescribed | AccessTokenRevoked), event
    token = tokens.by_id.get(event.token_id)
    after = FLOW[State.ABSENT if token is None else token.state, type(event)]
    if isinstance(event, AccessTokenCreated):
        tokens.by_id[event.token_id] = Token(event.description, event.expires_at)
        return tokens
    assert token is not None
    token.state = after
    if isinstance(event, AccessTokenDescribed):
        token.description = event.description
    return tokens


PART = Part(
    commands=frozenset({CreateAccessToken, ChangeAccessToken}),
    stream_of=lambda command: streams.TOKEN_DIRECTORY,
    initial=Tokens,
    decide=decide,
    evolve=evolve,
    ids={AccessTokenCreated: "token_id"},
)
