"""Repeats requests while the master is away, so that a command that waits for days survives an upgrade of the
master."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

from resolute.cli.errors import ApiError, Unreachable

T = TypeVar("T")

PATIENCE_S = 600.0
PAUSE_S = 2.0
_AWAY = (502, 503, 504)


def retry_while_unreachable(ask: Callable[[], T]) -> T:
    """The answer of `ask`, which must be safe to repeat: it is called again while the master is away.

    Prints on standard error when the master goes away and when it is back. When the master stays away for longer than
    ten minutes, raises the last error of `ask`.
    """
    away_since: float | None = None
    while True:
        try:
            answer = ask()
        except (Unreachable, ApiError) as error:
            if isinstance(error, ApiError) and error.status not in _AWAY:
                raise
            if away_since is None:
                away_since = time.monotonic()
                print(f"The master is away ({error}); waiting for it...", file=sys.stderr)
            if time.monotonic() - away_since > PATIENCE_S:
                raise
        else:
            if away_since is not None:
                print("The master is back.", file=sys.stderr)
            return answer
        time.sleep(PAUSE_S)
