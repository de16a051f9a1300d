"""How requests and streams are written on the wire: query parameters, and results that come line by line."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode


def encode_query(query: Mapping[str, Any]) -> str:
    """Unset values left out, lists as repeated keys, booleans in lower case."""
    pairs = [
        (key, str(each).lower() if isinstance(each, bool) else str(each))
        for key, value in query.items()
        if value is not None
        for each in (value if isinstance(value, list | tuple) else [value])
    ]
    return urlencode(pairs)


def lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The lines of a body as they arrive.

    Not the response's own readline: over chunks it takes a connection that broke for the end of the body.
    """
    rest = b""
    while piece := response.read1(1 << 16):
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line for line in whole if line.strip())
    if rest.strip():
        yield rest
