"""What is answered where a task cannot be reached: a page for people, JSON for programs. Both name what failed."""

from __future__ import annotations

import base64
import hashlib
import html
from dataclasses import dataclass

from aiohttp import web

from resolute.api import wire
from resolute.api.edge.welcome import STYLE

AGAIN_S = 3
"""After so long a page for what is not there yet loads itself again, and programs may ask again."""

POLICY = (
    "default-src 'none'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'; sandbox; "
    f"style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'"
)

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - Resolute</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p>{message}</p>
<p>{advice}</p>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a request does not reach a task."""

    code: wire.Code
    status: int
    title: str
    message: str
    advice: str = ""
    passes: bool = False
    """Whether the same request may succeed in a moment."""


def shown(request: web.Request, trouble: Trouble) -> web.Response:
    headers = {"Retry-After": str(AGAIN_S)} if trouble.passes else {}
    if not for_a_browser(request):
        message = " ".join(filter(None, [trouble.message, trouble.advice]))
        body = wire.error_body(request.path, trouble.code, message)
        answer = wire.json_response(body, status=trouble.status)
        answer.headers.update(headers)
        return answer
    headers["Content-Security-Policy"] = POLICY
    if trouble.passes:
        headers["Refresh"] = str(AGAIN_S)
    text = PAGE.format(
        title=html.escape(trouble.title),
        style=STYLE,
        message=html.escape(trouble.message),
        advice=html.escape(trouble.advice),
    )
    return web.Response(text=text, status=trouble.status, content_type="text/html", headers=headers)


def for_a_browser(request: web.Request) -> bool:
    """Whether a person sees the answer."""
    return request.method in ("GET", "HEAD") and "text/html" in request.headers.get("Accept", "")
