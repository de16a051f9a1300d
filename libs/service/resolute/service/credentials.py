"""Compares credentials from the headers of a request, whose bytes need not be valid UTF-8.

aiohttp decodes invalid bytes to lone surrogates, for which plain `str.encode` raises an exception.
"""

from __future__ import annotations

import hmac


def as_shown(text: str) -> bytes:
    """The bytes of a header's value as they came."""
    return text.encode(errors="surrogateescape")


def are_equal(shown: str, expected: str) -> bool:
    """Whether a credential is the expected one. The comparison takes the same time wherever they differ."""
    return hmac.compare_digest(as_shown(shown), expected.encode())
