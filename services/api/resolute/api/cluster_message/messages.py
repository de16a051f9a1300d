"""The messages about the cluster's message."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Name
from resolute.api.kernel.fields import Instant, Needed, OrAbsent, text
from resolute.api.kernel.messages import InBody, Input, Message, Request


class ClusterMessage(Message, wire_name="v1ClusterMessage"):
    """What administrators show to everybody."""

    message: str
    start_time: datetime
    end_time: OrAbsent[datetime] = None
    created_time: OrAbsent[datetime] = None


class GetClusterMessage(Request):
    pass


class ClusterMessageAnswer(Message, wire_name="v1GetClusterMessageResponse"):
    cluster_message: OrAbsent[ClusterMessage] = None


class NewClusterMessage(Input, wire_name="v1SetClusterMessageRequest"):
    message: Needed[Annotated[str, text(4096)]] = ""
    """1 to 250 characters."""
    start_time: Needed[Instant] = None
    """Now where it is left out."""
    duration: Name = ""
    """In the place of an end, such as `24h` or `1h30m`."""
    end_time: Instant = None
    """Where neither this nor a duration is given, the message stays until it is cleared."""


class SetClusterMessage(Request):
    body: InBody[NewClusterMessage]


class DeleteClusterMessage(Request):
    pass
