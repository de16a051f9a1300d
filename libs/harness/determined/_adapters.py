"""Adapters to frameworks that Determined has and this release has not: what an import of one says."""

from __future__ import annotations


def missing(module: str, meanwhile: str) -> ImportError:
    """To be raised by `module`, whose name is kept for what will come."""
    return ImportError(
        f"{module} is not part of this release, and will come with a later one; until then use {meanwhile}"
    )
