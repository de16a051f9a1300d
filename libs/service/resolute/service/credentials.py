"""Credentials as a request shows them: in headers, whose bytes may be no text in UTF-8.

aiohttp decodes such bytes to lone surrogates, which plain `str.encode` refuses with an exception.
"""

from __future__ import annotations

import hmac


def as_shown(text: str) -> bytes:
    """The bytes of a header's value, whatever they are."""
    return text.encode(errors="surrogateescape")


def are_equal(shown: str, expected: str) -> bool:
    """Whether a request shows what was expected. Takes the same time whatever is wrong."""
    return hmac.compare_digest(as_shown(shown), expected.encode())
