"""Asking on while the master is away: a person who waits for days should not have to begin again after an upgrade."""

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


def patiently(ask: Callable[[], T]) -> T:
    """The answer to `ask`, which may be asked any number of times: while the master is away it is asked again.

    Says so on standard error when the master goes away and when it is back. Raises what `ask` raised last when the
    master stays away for longer than ten minutes.
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
