"""Reads a master's answers: documents, refusals in any of the wire's three shapes, streams of results."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

from determined.common.client.wire import lines
from resolute.cli.errors import ApiError, NotFound, Unauthenticated, Unreachable


def document_of(status: int, content: bytes) -> Any:
    if status != 200:
        raise refusal(status, content)
    return json.loads(content) if content.strip() else {}


def refusal(status: int, content: bytes) -> ApiError:
    message = error_message(content) or f"the master answered {status}"
    kind = {401: Unauthenticated, 404: NotFound}.get(status, ApiError)
    return kind(status, message)


def error_message(content: bytes) -> str:
    """The error message of a failed answer, in any of the three shapes of the wire."""
    try:
        document = json.loads(content)
    except ValueError:
        return content.decode(errors="replace").strip()[:500]
    if not isinstance(document, dict):
        return str(document)
    inner = document.get("error", document)
    if isinstance(inner, dict):
        return str(inner.get("error") or inner.get("message") or inner)
    return str(inner)


def results(response: http.client.HTTPResponse, master: str) -> Iterator[Any]:
    try:
        for line in lines(response):
            document = json.loads(line)
            if "error" in document:
                raise refusal(int(document["error"].get("httpCode") or 500), line)
            yield document["result"]
    except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
        raise Unreachable(f"the stream from {master} broke off: {error}") from error
