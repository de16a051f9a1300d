"""What every answer tells browsers: do not guess its type, run it as a page, show it in a frame or keep a copy.

The gateway serves data. A checkpoint, a file of a model definition or an error must not become a page with the rights
of the gateway's own origin, whatever bytes somebody put into it. A route that serves real pages sets a
Content-Security-Policy of its own, which is then left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

ALWAYS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

STRICT_TRANSPORT = "Strict-Transport-Security"


def protect(headers: MutableMapping[str, str], strict_transport_s: int = 0) -> None:
    """Add what is missing. `strict_transport_s`: how long browsers shall insist on TLS; 0 says nothing about it."""
    for name, value in ALWAYS.items():
        headers.setdefault(name, value)
    if strict_transport_s:
        headers.setdefault(STRICT_TRANSPORT, f"max-age={strict_transport_s}")
