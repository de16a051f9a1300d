"""What a person or a script did that cannot work, said before or instead of asking the master."""

from __future__ import annotations


class ClientError(Exception):
    """Nothing was done; the message says what stood in the way and what would work."""
