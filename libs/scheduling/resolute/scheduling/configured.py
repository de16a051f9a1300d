"""What the log records of a pool's settings: values by name, as `scheduler.type` or `provider.max_instances`.

Recorded is what the pool's decisions go by. Descriptions, and what tasks are given in their containers, are not: they
may hold secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from resolute.config.pools import Provider, ResourcePool, Scheduler, Section
from resolute.proto.message import Object

RECORDED = frozenset({"agent_reconnect_wait", "max_aux_containers_per_agent", "scheduler", "provider"})
"""The fields of a pool's configuration that are recorded."""

SECTIONS: Mapping[str, type[Section]] = {"scheduler": Scheduler, "provider": Provider}


def settings_of(pool: ResourcePool) -> Object:
    """What is recorded of a pool as it is configured."""
    return dict(_by_name(pool.model_dump(mode="json", include=set(RECORDED), exclude_none=True)))


def changes(recorded: Object, configured: Object) -> Object:
    """The new values, by name; null for what is configured no more."""
    names = sorted({*recorded, *configured})
    return {name: configured.get(name) for name in names if recorded.get(name) != configured.get(name)}


def changed(recorded: Object, by: Object) -> Object:
    """The settings after a recorded change of them."""
    return {name: value for name, value in {**recorded, **by}.items() if value is not None}


def pool_of(name: str, recorded: Object) -> ResourcePool:
    """The pool as its settings are recorded. Raises ValueError for settings of a later release that this one cannot
    read; names that this release does not know are ignored."""
    sections: dict[str, Any] = {}
    for path, value in recorded.items():
        section, _, setting = path.partition(".")
        if setting:
            sections.setdefault(section, {})[setting] = value
        else:
            sections[section] = value
    return ResourcePool.model_validate({"pool_name": name, **_known(sections)})


def _by_name(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _by_name(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _known(sections: Mapping[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for name in RECORDED & sections.keys():
        fields = SECTIONS[name].model_fields if name in SECTIONS else None
        value = sections[name]
        known[name] = value if fields is None else {key: value[key] for key in value if key in fields}
    return known
