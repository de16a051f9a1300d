"""What an elastic pool can say to those who wait: how many instances are coming, or why none is."""

from __future__ import annotations

from resolute.scheduling.elastic.fleet import Fleet


def outlook(fleet: Fleet) -> str:
    """Empty where there is nothing to say: the pool is not elastic, or all it wanted is there."""
    count = fleet.coming
    parts = [f"{count} {'instance is' if count == 1 else 'instances are'} starting"] if count else []
    if fleet.retry_at is not None:
        row = f"{fleet.failures} in a row" if fleet.failures > 1 else "once"
        until = f"the next try is not before {fleet.retry_at:%H:%M:%S} UTC"
        alone = ", and of one instance alone" if fleet.suspended else ""
        parts.append(f"starting instances failed {row} ({fleet.trouble}); {until}{alone}")
    return "; ".join(parts)
