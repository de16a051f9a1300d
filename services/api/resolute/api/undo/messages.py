"""The messages about what requests changed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Name
from resolute.api.kernel.fields import AnyJson, JsonObject, whole
from resolute.api.kernel.messages import InPath, InQuery, Message, Request

LISTED_MOST = 1_000


class GetChangeRequests(Request):
    limit: InQuery[Annotated[int, whole(least=0, most=LISTED_MOST)]] = 0
    actor: InQuery[Name] = ""
    """Only requests of this user."""


class ChangeRequest(Message):
    """A request that changed something that can be put back."""

    id: str
    actor: str
    recorded_at: datetime
    changes: int
    """How many of its events changed such a thing."""
    says: str
    """The first of them, as a sentence."""


class ChangeRequestsAnswer(Message, wire_name="GetChangeRequestsResponse"):
    requests: tuple[ChangeRequest, ...]


class OneChangeRequest(Request):
    request_id: InPath[Name]


class RequestedChange(Message):
    """One property that a request gave another value."""

    kind: str
    """Of the thing, such as `experiment`."""
    thing: str
    """Its id."""
    property: str
    says: str
    """What happened, as a sentence."""
    now: AnyJson
    """As the request left it."""
    before: AnyJson
    obstacle: str = ""
    """Why it is not to be put back; empty where it can be."""
    properties: JsonObject
    """What the thing is like now."""


class ChangeRequestAnswer(Message, wire_name="GetChangeRequestResponse"):
    id: str
    actor: str
    changes: tuple[RequestedChange, ...]
    """The newest first: they are put back in this order."""
    others: tuple[str, ...]
    """What the request did besides, as sentences. It cannot be put back."""
