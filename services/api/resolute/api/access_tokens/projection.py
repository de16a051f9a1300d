"""Access tokens: which rows the log comes to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from resolute.api.kernel.rows import Projection, Rows, Table
from resolute.proto import streams
from resolute.proto.message import Recorded
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
    match recorded.event:
        case AccessTokenCreated(token_id, user_id, description, created_at, expires_at):
            rows.put(TOKENS, Token(token_id, user_id, description, created_at, expires_at, False))
        case AccessTokenDescribed(token_id, description):
            rows.change(TOKENS, token_id, description=description)
        case AccessTokenRevoked(token_id):
            rows.change(TOKENS, token_id, revoked=True)


PROJECTION = Projection(
    slice="access_tokens",
    version=1,
    tables=(TOKENS,),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.TOKENS.name}),
    project=project,
)
