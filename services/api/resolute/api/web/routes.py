"""The web UI's files and pages, and the session of the page by cookie."""

from __future__ import annotations

import asyncio

from aiohttp import web

from resolute.api.call import Call
from resolute.api.identity.shown import user_of
from resolute.api.identity.signing_in import ended, opened, with_cookies
from resolute.api.kernel.operations import download, operation
from resolute.api.routing import ANYONE
from resolute.api.web import messages as m
from resolute.api.web.site import BASE, File, packaged
from resolute.api.web.weakness import is_weak
from resolute.proto.errors import NotFound

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of a page (W3C, CSP 3): it runs the gateway's own files and nothing that is written in a
document, loads nothing from elsewhere, and is shown in no frame. `connect-src 'self'` covers `/stream` as well."""

FOR_EVER = "public, max-age=31536000, immutable"
"""An address with a content hash in it never means anything else (RFC 8246)."""

LOOKED_UP = "no-cache"
"""A browser may keep the page, and asks each time whether it has changed."""

ANOTHER_VERSION = "this gateway has another version of the web UI: load the page again"

TAG = "Outside /api/v1"


async def root(call: Call, request: m.GetRoot) -> web.StreamResponse:
    """To the web UI."""
    return web.Response(status=302, headers={"Location": f"{BASE}/"})


async def home(call: Call, request: m.GetHome) -> web.StreamResponse:
    """The web UI."""
    return await _entrance(call)


async def page(call: Call, request: m.GetPage) -> web.StreamResponse:
    """The web UI; the browser finds in the path what to show."""
    if request.page.startswith("assets/"):  # the router takes no braces in what names the version
        raise NotFound(ANOTHER_VERSION)
    return await _entrance(call)


async def _entrance(call: Call) -> web.StreamResponse:
    site = await asyncio.to_thread(packaged)
    answer = _answer(call.request, site.entrance)
    answer.headers["Cache-Control"] = LOOKED_UP
    answer.headers["Content-Security-Policy"] = POLICY
    return answer


async def asset(call: Call, request: m.GetAsset) -> web.StreamResponse:
    """A file of the web UI. `version` is the content hash of all of them."""
    site = await asyncio.to_thread(packaged)
    found = site.files.get(request.file) if request.version == site.version else None
    if found is None:
        raise NotFound(ANOTHER_VERSION)
    answer = _answer(call.request, found)
    answer.headers["Cache-Control"] = FOR_EVER
    return answer


def _answer(request: web.Request, file: File) -> web.Response:
    headers = {"ETag": file.tag, "Vary": "Accept-Encoding"}
    if file.tag in (tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")):
        return web.Response(status=304, headers=headers)
    body = file.plain
    if file.packed is not None and "gzip" in request.headers.get("Accept-Encoding", "").lower():
        body = file.packed
        headers["Content-Encoding"] = "gzip"
    charset = None if file.media_type.startswith(("image/", "font/")) else "utf-8"
    return web.Response(body=body, headers=headers, content_type=file.media_type, charset=charset)


# ---------------------------------------------------------------- the session of the page


async def session(call: Call, request: m.GetSession) -> m.SessionAnswer:
    """Who is signed in, by the cookie; nobody where there is none, or where its session has ended."""
    principal = call.principal
    if not principal.user_id or principal.task is not None:
        return m.SessionAnswer()
    return m.SessionAnswer(user=await user_of(call, principal.user_id))


async def open_session(call: Call, request: m.OpenSession) -> web.StreamResponse:
    """Sign in on the page: as `Login`, but the token goes into the cookie `auth` and nowhere else."""
    new = await opened(call, request.body)
    weak = not request.body.is_hashed and is_weak(request.body.password)
    answer = m.SessionAnswer(user=await user_of(call, new.user_id), weak_password=weak)
    return with_cookies(call, new, answer)


async def close_session(call: Call, request: m.CloseSession) -> web.StreamResponse:
    """Sign out on the page; also without a session."""
    return await ended(call, m.SessionAnswer())


ROUTES = (
    download("WebRoot", "GET", "/", root, ANYONE, request=m.GetRoot, produces="text/html", tag=TAG),
    download("WebBase", "GET", BASE, root, ANYONE, request=m.GetRoot, produces="text/html", tag=TAG),
    download("WebHome", "GET", f"{BASE}/", home, ANYONE, request=m.GetHome, produces="text/html", tag=TAG),
    download(
        "WebAsset",
        "GET",
        f"{BASE}/assets/{{version}}/{{file...}}",
        asset,
        ANYONE,
        request=m.GetAsset,
        produces="text/javascript",
        tag=TAG,
    ),
    operation(
        "WebSession",
        "GET",
        f"{BASE}/session",
        session,
        ANYONE,
        request=m.GetSession,
        response=m.SessionAnswer,
        tag=TAG,
    ),
    operation(
        "WebSignIn",
        "POST",
        f"{BASE}/session",
        open_session,
        ANYONE,
        request=m.OpenSession,
        response=m.SessionAnswer,
        tag=TAG,
    ),
    operation(
        "WebSignOut",
        "DELETE",
        f"{BASE}/session",
        close_session,
        ANYONE,
        request=m.CloseSession,
        response=m.SessionAnswer,
        tag=TAG,
    ),
    # Last: a router tries routes of one beginning in order.
    download("WebPage", "GET", f"{BASE}/{{page...}}", page, ANYONE, request=m.GetPage, produces="text/html", tag=TAG),
)
