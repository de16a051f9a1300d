"""The exceptions of calls to the cluster.

BadRequestException
├── MasterNotFoundException      the master did not answer
├── APIException                 the answer was an error
│   ├── NotFoundException        404
│   └── DeleteFailedException
├── ForbiddenException           403
├── RunGivenUpException          410
└── UnauthenticatedException     401
    └── InvalidCredentialsException
"""

from __future__ import annotations

import json
from typing import Any, Protocol


class Response(Protocol):
    """As much of an HTTP response as an error message needs."""

    @property
    def status_code(self) -> int: ...

    @property
    def text(self) -> str: ...


class BadRequestException(Exception):
    def __init__(self, message: str, *args: Any) -> None:
        super().__init__(message, *args)
        self.message = message


class BadResponseException(Exception):
    def __init__(self, message: str, *args: Any) -> None:
        super().__init__(message, *args)
        self.message = message


class MasterNotFoundException(BadRequestException):
    """No master answered at the address, after several tries."""


class APIException(BadRequestException):
    """The cluster answered with an error; `status_code` has the HTTP status."""

    def __init__(self, response: Response, *args: Any) -> None:
        self.status_code = response.status_code
        self.response_error = _error_of(response.text)
        super().__init__(self.response_error or f"HTTP status {response.status_code}", *args)


class NotFoundException(APIException):
    def __init__(self, error_message: str) -> None:
        super().__init__(_Plain(404, error_message))


class DeleteFailedException(APIException):
    def __init__(self, error_message: str) -> None:
        super().__init__(_Plain(500, error_message))


class ForbiddenException(BadRequestException):
    def __init__(self, message: str = "") -> None:
        super().__init__(f"forbidden: {message}" if message else "forbidden")


class RunGivenUpException(BadRequestException):
    """The cluster has given up this run, because it lost contact with the run's host. It refuses all reports of this
    run, and may start the next one."""


class UnauthenticatedException(BadRequestException):
    def __init__(self, message: str = "unauthenticated: log in with `det user login <name>`") -> None:
        super().__init__(message)


class InvalidCredentialsException(UnauthenticatedException):
    def __init__(self) -> None:
        super().__init__("invalid credentials")


class CorruptTokenCacheException(Exception):
    def __init__(self) -> None:
        super().__init__("the file of saved login tokens is damaged; remove it and log in again")


class CorruptCertificateCacheException(Exception):
    def __init__(self) -> None:
        super().__init__("the file of saved master certificates is damaged; remove it and connect again")


class EmptyResultException(BadResponseException):
    """The answer was well formed and empty where something was expected."""


class _Plain:
    def __init__(self, status_code: int, text: str) -> None:
        self.status_code = status_code
        self.text = text


def _error_of(text: str) -> str:
    try:
        body = json.loads(text)
    except ValueError:
        return text
    match body:
        case {"error": {"error": str(message)}} | {"error": {"message": str(message)}}:
            return message
        case {"message": str(message)}:
            return message
    return text


def of_status(status: int, text: str) -> BadRequestException:
    """The exception for an answer of `status`."""
    message = _error_of(text)
    match status:
        case 401:
            return UnauthenticatedException(message or "unauthenticated")
        case 403:
            return ForbiddenException(message)
        case 404:
            return NotFoundException(text)
        case 410:
            return RunGivenUpException(message or "this run was given up")
    return APIException(_Plain(status, text))
