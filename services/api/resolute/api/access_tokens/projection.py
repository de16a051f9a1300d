"""Access tokens: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Projection, Rows, Table
from resolute.proto import streams
from resolute.proto.message import Event, Recorded
from resolute.proto.tokens import AccessTokenCreated, AccessTokenDescribed, AccessTokenRevoked


@dataclass(frozen=True, slots=True)
class Token:
    id: int
    user_id: int
    description: str
    created_at: datetime
    expires_at: datetime
    revoked: bool


TOKENS = Table("tokens", Token, key=("id",))


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, rows)


def _created(created: AccessTokenCreated, rows: Rows) -> None:
    token = Token(
        created.token_id, created.user_id, created.description, created.created_at, created.expires_at, revoked=False
    )
    rows.put(TOKENS, token)


def _described(described: AccessTokenDescribed, rows: Rows) -> None:
    rows.change(TOKENS, described.token_id, description=described.description)


def _revoked(revoked: AccessTokenRevoked, rows: Rows) -> None:
    rows.change(TOKENS, revoked.token_id, revoked=True)


SHOWS: Mapping[type[Event], Callable[[Any, Rows], None]] = {
    AccessTokenCreated: _created,
    AccessTokenDescribed: _described,
    AccessTokenRevoked: _revoked,
}


PROJECTION = Projection(
    slice="access_tokens",
    version=1,
    tables=(TOKENS,),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.TOKENS.name}),
    project=project,
)
