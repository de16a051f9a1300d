"""What a browser is shown at an address of the gateway where nothing is: where the web UI is, and what to type."""

from __future__ import annotations

import base64
import hashlib
import html
import re

from aiohttp import web

from resolute.api.edge import origins
from resolute.api.settings import VERSION, ApiSettings

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:4rem auto;padding:0 1rem}"
    "pre{background:#8882;padding:1rem;border-radius:6px;overflow-x:auto}:root{color-scheme:light dark}"
)

POLICY = (
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox; "
    f"style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'"
)
"""As for every other answer, but for the one style sheet that is written in the page."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{cluster} - Resolute</title>
<style>{style}</style>
</head>
<body>
<h1>Resolute</h1>
<p>This is the cluster <b>{cluster}</b>. Resolute trains deep-learning models: it shares this cluster's processors and
GPUs among a team, searches hyperparameters, and keeps every metric, log line and checkpoint.</p>
<p>Nothing is at this address. The <a href="/det/">web UI</a> is at <code>/det/</code>; the command line does everything
as well:</p>
<pre>export DET_MASTER={address}
det user login determined
det experiment create CONFIG.yaml DIRECTORY
det experiment list</pre>
<p><code>det --help</code> lists all commands. Programs find the REST routes, as of Determined {version}, in the
<a href="/api/v1/api.swagger.json">OpenAPI document</a>; <a href="/health">/health</a> says whether the cluster
works.</p>
</body>
</html>
"""

_PLAIN = re.compile(r"[A-Za-z0-9.:\[\]-]{1,260}")


def page(request: web.Request, settings: ApiSettings, status: int = 200) -> web.Response:
    address = html.escape(_address(origins.asked(request, settings.trusted_proxies)))
    text = PAGE.format(cluster=html.escape(settings.cluster_name), style=STYLE, address=address, version=VERSION)
    headers = {"Content-Security-Policy": POLICY}
    return web.Response(text=text, status=status, content_type="text/html", headers=headers)


def _address(asked: origins.Asked) -> str:
    """The address that the browser called, where it is one that can be pasted into a shell."""
    return f"{'https' if asked.secure else 'http'}://{asked.host}" if _PLAIN.fullmatch(asked.host) else "ADDRESS"


def is_for_a_browser(request: web.Request) -> bool:
    """Whether a person sees the answer to a request that no route takes. Programs ask for JSON, or for anything."""
    wants_a_page = "text/html" in request.headers.get("Accept", "")
    return request.method in ("GET", "HEAD") and wants_a_page and not request.path.startswith("/api/")
