"""Named SQL: statements live in `.sql` files, one file per purpose, each under a `-- name:` line."""

from __future__ import annotations

import re
from importlib.resources.abc import Traversable

_NAME = re.compile(r"^-- name: *(\w+) *$", re.MULTILINE)


def load(file: Traversable) -> dict[str, str]:
    """The statements of `file` by name."""
    _preamble, *parts = _NAME.split(file.read_text(encoding="utf-8"))
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}
