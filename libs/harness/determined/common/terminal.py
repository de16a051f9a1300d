"""What a terminal in a task and the program of its viewer say to each other, over any stream of bytes.

The viewer first sends `GREETING`. Then both sides send frames: one byte for the kind, four for the length of what
follows (big-endian), and that. The viewer begins with HELLO; the terminal answers with WELCOME or REFUSED.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

GREETING = b"RESOLUTE-TERMINAL/1\n"
HELLO = b"h"
"""A document: `token`; `session`, `rows`, `columns`, `term` to see a session, which is started where
there is none unless `again` says that the viewer has seen it before; or `ask` to be told what there is."""
WELCOME = b"w"
"""A document: `ssh`, whether sshd serves at the same port, and `user`, the name that it knows; `session`; `viewers`."""
REFUSED = b"r"
"""A document: `message`. Nothing follows."""
INPUT = b"i"
"""Bytes that were typed."""
OUTPUT = b"o"
"""Bytes to be shown."""
SIZE = b"s"
"""A document: `rows`, `columns` of the viewer's window."""
ENDED = b"x"
"""A document: `status`, the exit status of the session's program. Nothing follows."""

FRAME_BYTES_MAX = 2**20
_HEAD = struct.Struct("!cI")


class Malformed(ValueError):
    """The other side does not keep to the protocol."""


def frame(kind: bytes, data: bytes) -> bytes:
    return _HEAD.pack(kind, len(data)) + data


def document(kind: bytes, **said: Any) -> bytes:
    return frame(kind, json.dumps(said).encode())


def read_document(data: bytes) -> Mapping[str, Any]:
    """Raises Malformed."""
    try:
        found = json.loads(data)
    except ValueError as error:
        raise Malformed("expected a JSON document") from error
    if not isinstance(found, dict):
        raise Malformed("expected a JSON object")
    return found


class Frames:
    """Takes bytes as they come, and gives the frames that are whole."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The frames that `data` completes: kind and content. Raises Malformed for one that is too long."""
        self._rest += data
        while len(self._rest) >= _HEAD.size:
            kind, size = _HEAD.unpack_from(self._rest)
            if size > FRAME_BYTES_MAX:
                raise Malformed(f"a frame of {size:,} bytes; at most {FRAME_BYTES_MAX:,} are allowed")
            end = _HEAD.size + size
            if len(self._rest) < end:
                return
            content = bytes(self._rest[_HEAD.size : end])
            del self._rest[:end]
            yield kind, content
