"""The version of the client protocol that this library speaks."""

from __future__ import annotations

__version__ = "0.38.1"
