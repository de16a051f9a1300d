"""What an elastic pool can say to those who wait: how many instances are coming, or why none is."""

from __future__ import annotations

from resolute.scheduler.provisioner.fleet import COMING, Fleet


def outlook(fleet: Fleet) -> str:
    """Empty where there is nothing to say: the pool is not elastic, or all it wanted is there."""
    coming = sum(instance.state in COMING for instance in fleet.instances.values())
    parts = [f"{coming} {'instance is' if coming == 1 else 'instances are'} starting"] if coming else []
    if fleet.retry_at is not None:
        row = f"{fleet.failures} in a row" if fleet.failures > 1 else "once"
        until = f"the next try is not before {fleet.retry_at:%H:%M:%S} UTC"
        alone = ", and of one instance alone" if fleet.suspended else ""
        parts.append(f"starting instances failed {row} ({fleet.trouble}); {until}{alone}")
    return "; ".join(parts)
