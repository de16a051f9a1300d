"""The address of a master: the same for `det` and for the SDK."""

from __future__ import annotations

from determined.common.client.address import canonical as canonical
from determined.common.client.address import choose as choose

__all__ = ["canonical", "choose"]
