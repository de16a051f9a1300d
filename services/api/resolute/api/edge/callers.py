"""Whose connection it is: from a request's principal to the kind that its connection is counted as."""

from __future__ import annotations

from aiohttp import web

from resolute.api import wire
from resolute.api.edge.admission import Kind
from resolute.api.edge.protocol import EdgeProtocol
from resolute.api.routing import Principal
from resolute.api.wire import WireError


def recognise(request: web.BaseRequest, principal: Principal) -> None:
    """Count the request's connection for its caller. Raises WireError where the caller has too many."""
    protocol = request.protocol
    if not isinstance(protocol, EdgeProtocol):  # a Unix socket of this process itself, as `resolute replay` has it
        return
    task = principal.task
    kind, caller = (Kind.USER, f"user {principal.user_id}") if task is None else (Kind.TASK, task.allocation_id)
    if (limit := protocol.watcher.recognise(kind, caller)) is not None:
        raise WireError(wire.RESOURCE_EXHAUSTED, f"{limit}: close some, or use those that are open for more requests")
