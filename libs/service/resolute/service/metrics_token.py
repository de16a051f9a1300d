"""The token with which a monitoring system reads metrics, and nothing else (docs/decisions/0049)."""

from __future__ import annotations

import secrets
from pathlib import Path

from resolute.proto.errors import InvalidConfig
from resolute.service.credentials import are_equal

PREFIX = "metrics-"
"""Distinguishes the token from those of sessions and of tasks."""


def new() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def read(file: Path | None) -> str:
    """The token in `file`; empty when `file` is None. Raises InvalidConfig."""
    if file is None:
        return ""
    try:
        token = file.read_text().strip()
    except OSError as error:
        raise InvalidConfig(f"metrics_token_file: cannot read {file}: {error.strerror}") from error
    if not token.startswith(PREFIX) or len(token) < len(PREFIX) + 32:
        raise InvalidConfig(
            f"metrics_token_file: expected a token of 32 characters or more after {PREFIX!r} in {file}; found "
            f"{len(token)} characters"
        )
    return token


def matches(presented: str, token: str) -> bool:
    """Whether `presented` is the token. Where there is no token, nothing matches."""
    return bool(token) and are_equal(presented, token)


def shown_in(authorization: str) -> str:
    """The bearer token in an `Authorization` header; empty where it has none."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
