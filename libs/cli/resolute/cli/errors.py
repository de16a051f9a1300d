"""What stops a command: a message for the person, saying what stood in the way and what to do next."""

from __future__ import annotations

from determined.common.client.problems import ClientError as CliError

__all__ = ["ApiError", "CliError", "NotFound", "Unauthenticated", "Unreachable"]


class Unreachable(CliError):
    """No master answers at the address."""


class ApiError(CliError):
    """The master answered, and the answer was no. `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Unauthenticated(ApiError):
    """The request has no valid token (401)."""


class NotFound(ApiError):
    """There is no such thing (404)."""
