"""The metrics that the Grafana dashboard asks for, and those that a page of metrics has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[3] / "compose" / "grafana" / "dashboards" / "resolute.json"

WORDS = {"by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless", "offset", "bool", "inf"}
"""Of PromQL: what stands where a name could stand."""

OF_PROMETHEUS = {"up"}
"""What Prometheus itself records of every target."""


def asked_for() -> Iterator[str]:
    """Every metric in a query of the dashboard."""
    for query in queries(json.loads(FILE.read_text())):
        yield from names(query)


def queries(node: Any) -> Iterator[str]:
    """The expressions of all panels, and of the choices at the top."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "expr":
                yield value
            elif key == "query" and isinstance(value, str) and value.startswith("label_values("):
                yield value.removeprefix("label_values(").rpartition(",")[0]
            else:
                yield from queries(value)
    elif isinstance(node, list):
        for value in node:
            yield from queries(value)


def names(query: str) -> set[str]:
    """The metrics in an expression: what is no function, no keyword, no label and no number."""
    bare = re.sub(r'"[^"]*"|\{[^}]*\}|\[[^\]]*\]', "", query)
    bare = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", "", bare)
    found = re.findall(r"(?<![\w:])[A-Za-z_:][A-Za-z0-9_:]*(?!\s*\(|[A-Za-z0-9_:])", bare)
    return {name for name in found if name not in WORDS | OF_PROMETHEUS}


def exported(page: str) -> set[str]:
    """The names that the families of a page have, with what a counter's and a histogram's samples are called."""
    found: set[str] = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", page, re.M):
        endings = {"histogram": ("_bucket", "_sum", "_count")}.get(kind, ("",))
        found |= {name + ending for ending in endings}
    return found
