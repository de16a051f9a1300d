"""How often and how long calls are repeated while the master does not answer: pure arithmetic over attempts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

# A gateway that restarts is away for seconds; a host that is replaced, for minutes.
PATIENCE_S = 600.0


# A gateway may answer 401 to a task that was accepted before, because its tables are behind. The call is repeated for
# this long. (A task whose host is lost is given up after the pool's agent_reconnect_wait, by default 25 s.)
READMISSION_S = 60.0

# The longest time that a task waits because of a gateway's Retry-After header.
RETRY_AFTER_MAX_S = 30.0


def seconds_of(retry_after: str | None) -> float:
    """The seconds of a Retry-After header, at most RETRY_AFTER_MAX_S; 0 without a header, and for a date."""
    text = (retry_after or "").strip()
    return min(float(text), RETRY_AFTER_MAX_S) if text.isdecimal() and len(text) < 10 else 0.0


# Not a dataclass: every task starts with this module, and `dataclasses` alone would take it 5 ms.
class RetryPolicy(NamedTuple):
    """Attempts go on until `give_up_after_s`, with pauses that double from `pause_s` up to `pause_s_max`."""

    give_up_after_s: float = PATIENCE_S
    pause_s: float = 0.1
    pause_s_max: float = 5.0
    statuses: frozenset[int] = frozenset({502, 503, 504})

    def pause_before(self, attempt: int) -> float:
        """Seconds to wait before attempt number `attempt` (the first one is 0, which waits for nothing)."""
        if attempt == 0:
            return 0.0
        return float(min(self.pause_s_max, self.pause_s * 2 ** min(attempt - 1, 30)))

    def allows(self, attempt: int, waited_s: float) -> bool:
        """Whether attempt number `attempt` may be made, `waited_s` after the first one."""
        return waited_s + self.pause_before(attempt) <= self.give_up_after_s


ONCE = RetryPolicy(give_up_after_s=-1.0)


def policy_of(env: Mapping[str, str]) -> RetryPolicy:
    """DET_RETRY_CONFIG, a JSON object: `total_s`, or `total` attempts and `backoff_factor` as of old."""
    text = env.get("DET_RETRY_CONFIG")
    if not text:
        return RetryPolicy()
    try:
        asked = json.loads(text)
        pause_s = float(asked.get("backoff_factor", RetryPolicy().pause_s)) or RetryPolicy().pause_s
        total_s = asked.get("total_s")
        if total_s is None and "total" in asked:
            slow = RetryPolicy(pause_s=pause_s)
            total_s = sum(slow.pause_before(attempt) for attempt in range(int(asked["total"]) + 1))
        return RetryPolicy(give_up_after_s=PATIENCE_S if total_s is None else float(total_s), pause_s=pause_s)
    except (ValueError, AttributeError, TypeError) as problem:
        raise ValueError(
            f'DET_RETRY_CONFIG: expected a JSON object such as {{"total_s": 600}}, found {text!r}'
        ) from problem
