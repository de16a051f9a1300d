"""Writes docs/reference/streams.md: the streams of the log, from the table in proto. `python docs/streams.py`."""

from __future__ import annotations

from pathlib import Path

import resolute.proto.catalog  # noqa: F401  (registers every event)
from resolute.proto.message import EVENTS
from resolute.proto.streams import CATEGORIES, READ_EVERYTHING, Category

PAGE = Path(__file__).parent / "reference" / "streams.md"


def page() -> str:
    carriers = ", ".join(f"`{service}`" for service in sorted(READ_EVERYTHING))
    parts = [
        "# Streams of the log",
        "",
        "Written by `python docs/streams.py` from the table in `proto/resolute/proto/streams.py`.",
        "",
        "A stream's name is its category, a hyphen, and a key: `experiment-7`, `pool-default`. One service alone",
        "appends to it. A service that tries to append to a stream of another service has a bug, and stops before",
        "anything is written. The services under *read by* fold these streams, or react to their events. In addition",
        f"{carriers} publishes every event on the bus.",
        "",
        "| category | one stream holds | the key | appended by | read by |",
        "|---|---|---|---|---|",
        *map(_row, CATEGORIES.values()),
    ]
    for category in CATEGORIES.values():
        parts += ["", f"## {category.name}", "", *_events(category)]
    return "\n".join(parts) + "\n"


def _row(category: Category) -> str:
    readers = ", ".join(f"`{service}`" for service in sorted(category.read_by)) or "no other"
    return f"| `{category.name}` | {category.holds} | {category.key} | `{category.appended_by}` | {readers} |"


def _events(category: Category) -> list[str]:
    """Those of the release; tests define further ones."""
    known = sorted(name for name, kind in EVENTS.items() if kind.__module__.startswith("resolute.proto."))
    return [f"- `{name}`" for name in known if EVENTS[name].category == category.name]


if __name__ == "__main__":
    PAGE.write_text(page())
