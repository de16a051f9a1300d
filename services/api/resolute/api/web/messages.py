"""The messages of the web UI's own routes."""

from __future__ import annotations

from typing import Annotated

from resolute.api.identity.messages import Credentials, User
from resolute.api.kernel.fields import text
from resolute.api.kernel.messages import InBody, InPath, Message, Request


class GetRoot(Request):
    pass


class GetHome(Request):
    pass


class GetPage(Request):
    page: InPath[Annotated[str, text(4096)]]


class GetAsset(Request):
    version: InPath[Annotated[str, text(64)]]
    file: InPath[Annotated[str, text(300)]]


class GetSession(Request):
    pass


class OpenSession(Request):
    body: InBody[Credentials]


class CloseSession(Request):
    pass


class SessionAnswer(Message, wire_name="resoluteSession"):
    """Who is signed in on the page. The token of the session is in the cookie alone, out of the page's reach."""

    user: User | None = None
    weak_password: bool = False
    """Whether the password that was just given is one that is easily guessed."""
