"""The token store: the same for `det` and for the SDK."""

from __future__ import annotations

from determined.common.client.tokens import Logins as Logins
from determined.common.client.tokens import TokenStore as TokenStore
from determined.common.client.tokens import directory as directory
from determined.common.client.tokens import kept_certificate as kept_certificate

__all__ = ["Logins", "TokenStore", "directory", "kept_certificate"]
