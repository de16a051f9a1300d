"""Messages and fields that many operations share: names, pages, orders."""

from __future__ import annotations

from typing import Annotated

from resolute.api import wire
from resolute.api.kernel.fields import OrAbsent, WireEnum, text, whole
from resolute.api.kernel.messages import Input, Message

Name = Annotated[str, text(255)]
"""A name, or a part of one that is looked for."""

Id = Annotated[int, whole(least=0)]

Limit = Annotated[int, whole(least=-2)]
"""How many of a list: 0 is the operation's own default, -1 everything, -2 the page's numbers alone."""

Offset = Annotated[int, whole()]
"""Where in a list the page begins; a negative one counts from the end."""


class OrderBy(WireEnum, wire_name="v1OrderBy"):
    UNSPECIFIED = "ORDER_BY_UNSPECIFIED"
    ASC = "ORDER_BY_ASC"
    DESC = "ORDER_BY_DESC"


class Pagination(Message, wire_name="v1Pagination"):
    offset: int = 0
    limit: int = 0
    start_index: int = 0
    end_index: int = 0
    """The place after the last one."""
    total: int = 0

    @classmethod
    def of(cls, page: wire.Page) -> Pagination:
        return cls(offset=page.offset, limit=page.limit, start_index=page.start, end_index=page.end, total=page.total)


class AgentUserGroup(Input, wire_name="v1AgentUserGroup"):
    """The user and the group of an agent's host as which tasks run."""

    agent_gid: OrAbsent[Id] = None
    agent_group: OrAbsent[Name] = None
    agent_uid: OrAbsent[Id] = None
    agent_user: OrAbsent[Name] = None
