"""Reading the body of a request: up to its limit, and off the event loop where parsing it takes long.

Three sizes are handled in three ways. A small body is parsed at once. A larger one is parsed on a thread: parsing holds
the interpreter for some 20 ms at the largest limit, and what follows it is Python, which lets the loop run in between.
A submission with a large context directory would hold the interpreter for half a second even so; it is written to
a file as it comes, and a process of its own reads it (`resolute.api.uploads`).
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from resolute.api import wire
from resolute.api.body_kinds import LAUNCH, PASSED_ON, SUBMISSION, BodyKind
from resolute.api.edge.protocol import BodyTooSlow
from resolute.api.uploads import Upload, Uploads
from resolute.api.wire import WireError
from resolute.proto.errors import InvalidConfig, ResoluteError

AT_ONCE_BYTES = 65_536
"""Up to here a body is parsed on the event loop: it takes less than handing it to a thread."""
IN_MEMORY_BYTES = 2**20
"""A submission beyond this goes into a file."""


@dataclass(slots=True)
class RequestBody:
    raw: bytes = field(repr=False)  # a password may be in it, and a traceback may show it
    upload: Upload | None = None
    """Where it is instead of in `raw`, for a large submission."""
    awaited: bool = True
    """Whether anything else could happen in this process between the request's head and the end of its body."""
    _digest: str = ""
    """Where it is known."""

    @property
    def digest(self) -> str:
        """SHA-256 of all of it. Few requests need it."""
        self._digest = self._digest or hashlib.sha256(self.raw).hexdigest()
        return self._digest

    async def parsed(self) -> dict[str, Any]:
        """The JSON object with keys in camelCase; of an upload all but its files. {} for an empty body."""
        if self.upload is not None:
            return await self.upload.parsed()
        if len(self.raw) <= AT_ONCE_BYTES:
            return parsed(self.raw)
        return await asyncio.to_thread(parsed, self.raw)

    def object(self) -> dict[str, Any]:
        """The same, at once: for a small body, or on a thread."""
        return parsed(self.raw)

    def forget(self) -> None:
        """For a call that has read it and waits."""
        self._digest, self.raw = self.digest, b""

    async def close(self) -> None:
        if self.upload is not None:
            await self.upload.close()


async def read_body(request: web.Request, kind: BodyKind, uploads: Uploads) -> RequestBody:
    """Raises WireError (413) for a body that says that it is larger than its kind may be, and for one that is."""
    if kind is PASSED_ON:
        return RequestBody(b"", awaited=False)
    said = request.content_length or 0
    if said > kind.limit_bytes:
        raise _too_large(kind)
    if said <= AT_ONCE_BYTES and request.content.is_eof():
        return _arrived(request, kind)
    return await _read_as_it_comes(request, kind, uploads)


def _arrived(request: web.Request, kind: BodyKind) -> RequestBody:
    """A body that came together with the head of its request, as most do."""
    try:
        raw = request.content.read_nowait()
    except (BodyTooSlow, web.RequestPayloadError, HttpProcessingError) as error:
        raise _unreadable(error, 0) from None
    if len(raw) > kind.limit_bytes:
        raise _too_large(kind)
    return RequestBody(raw, awaited=False)


async def _read_as_it_comes(request: web.Request, kind: BodyKind, uploads: Uploads) -> RequestBody:
    digest, parts, size = hashlib.sha256(), [], 0
    upload: Upload | None = None
    try:
        async for part in request.content.iter_any():
            size += len(part)
            if size > kind.limit_bytes:
                raise _too_large(kind)
            digest.update(part)
            parts.append(part)
            if kind in (SUBMISSION, LAUNCH) and upload is None and size > IN_MEMORY_BYTES:
                upload = await uploads.begin("task" if kind is LAUNCH else "experiment")
            if upload is not None:
                await upload.write(parts)
        if upload is not None:
            await upload.finish(parts)
    except (BodyTooSlow, web.RequestPayloadError, HttpProcessingError) as error:
        raise _unreadable(error, size) from None
    finally:
        if upload is not None and not upload.complete:
            await upload.close()
    return RequestBody(b"" if upload else b"".join(parts), upload, _digest=digest.hexdigest())


def _too_large(kind: BodyKind) -> WireError:
    message = f"the body is larger than {kind.limit_bytes:,} bytes, the limit for {kind.name}"
    return WireError(wire.TOO_LARGE, message)


def _unreadable(error: Exception, size: int) -> ResoluteError:
    if isinstance(error, BodyTooSlow):
        return WireError(wire.TIMED_OUT, f"{error}: {size} bytes came; send it again over a better connection")
    return InvalidConfig(f"the body of the request cannot be read: {error}")


def parsed(raw: bytes) -> dict[str, Any]:
    """The JSON object in `raw`, whatever its content type said, with keys in camelCase; {} for an empty body."""
    if not raw.strip():
        return {}
    document = wire.loads(raw)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise InvalidConfig(f"the body must be a JSON object; found {type(document).__name__}")
    normalised: dict[str, Any] = wire.normalised(document)
    return normalised
