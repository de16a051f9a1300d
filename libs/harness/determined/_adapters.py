"""The error for importing an adapter that Determined has and this release does not have."""

from __future__ import annotations


def missing(module: str, meanwhile: str) -> ImportError:
    """The error that `module` raises: its name is reserved for a later release. `meanwhile`: what to use until then."""
    return ImportError(
        f"{module} is not part of this release, and will come with a later one; until then use {meanwhile}"
    )
