"""The files of the web UI, as browsers are given them.

There is no build step: what lies in the folder `page` is what the browser runs. All files are below one address that
has the content hash of the whole folder in it. So modules import each other by relative paths, every file may be kept
for ever, and a gateway of another version has another address for everything.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

BASE = "/det"
"""All pages are below this path, as Determined's were."""

TYPES: Mapping[str, str] = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
"""What is served, by the end of its name. Other files of the folder (types, checksums) are for those who write it."""

PACKED = frozenset({".css", ".html", ".js", ".json", ".svg"})
"""Files that become smaller when they are packed."""

ENTRANCE = "index.html"
"""The one document; it finds in its address what to show."""

PLACEHOLDER = "{{assets}}"
"""Stands in the entrance for the address below which the files are."""

DIGITS = 32
"""Of a hash in hexadecimal: 128 bits."""


@dataclass(frozen=True, slots=True)
class File:
    """A file in the two forms that it is sent in."""

    media_type: str
    plain: bytes
    packed: bytes | None
    """In gzip's format (RFC 1952); None where that would not be smaller."""
    tag: str
    """Its entity tag (RFC 9110, 8.8.3)."""


@dataclass(frozen=True, slots=True)
class Site:
    version: str
    """The content hash of all files."""
    entrance: File
    files: Mapping[str, File]
    """By their paths below the folder."""

    @property
    def assets(self) -> str:
        return f"{BASE}/assets/{self.version}"


def site_of(contents: Mapping[str, bytes]) -> Site:
    """The site made of these files, by their paths; `index.html` must be among them."""
    served = {path: body for path, body in sorted(contents.items()) if _ending(path) in TYPES}
    version = _hash(b"".join(_hash(path.encode() + b"\0" + body).encode() for path, body in served.items()))
    assets = f"{BASE}/assets/{version}"
    entrance = served.pop(ENTRANCE).replace(PLACEHOLDER.encode(), assets.encode())
    return Site(version, _file(ENTRANCE, entrance), {path: _file(path, body) for path, body in served.items()})


def _file(path: str, body: bytes) -> File:
    packed = gzip.compress(body, 9, mtime=0) if _ending(path) in PACKED else body
    return File(TYPES[_ending(path)], body, packed if len(packed) < len(body) else None, f'"{_hash(body)}"')


def _ending(path: str) -> str:
    return Path(path).suffix.lower()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGITS]


@cache
def packaged() -> Site:
    """The site of this release. Reads and packs its files the first time, which takes some tens of milliseconds."""
    folder = Path(__file__).parent / "page"
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix in TYPES)
    return site_of({path.relative_to(folder).as_posix(): path.read_bytes() for path in found})
