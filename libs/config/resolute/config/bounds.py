"""How large a configuration may be: every bound on its size, in one place, and the checks that many readers share.

Without bounds a short text can mean a great deal of work: aliases multiply, nesting exhausts the stack of a reader
that calls itself, and each value of a configuration is copied into events, messages and tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resolute.proto.errors import InvalidConfig

CONFIGURATION_BYTES_MAX = 2**20
"""Of the text of a configuration. Data belongs into the context directory or into storage."""
VALUES_MAX = 20_000
"""Keys and values of a document, with its aliases expanded."""
NESTING_MAX = 50
"""Objects and lists inside each other."""
NAME_CHARACTERS_MAX = 1_000
"""Of a name: an experiment's, a label's, a hyperparameter's, a workspace's, a project's, a pool's."""
TEXT_CHARACTERS_MAX = 65_536
"""Of any other text: a command, a description, an environment variable. A process takes twice as much at most."""
ITEMS_MAX = 1_000
"""Of a list for which nothing else is said: labels, mounts, variables, devices, ports. The choices of a categorical
hyperparameter are bounded by the document alone."""
ENVIRONMENT_BYTES_MAX = 500_000
"""Of all environment variables of a configuration. A process takes 2 MiB, with its arguments and the cluster's own."""
PROBLEMS_MAX = 100
"""Told at once; reading stops there."""
HYPERPARAMETERS_MAX = 2_000
SEARCH_BYTES_MAX = 10**9
"""Of the hyperparameters of all trials of a search, written as JSON: each trial's are an event, a row and a message."""


def check_text(text: str) -> None:
    """Raises InvalidConfig for a text that is longer than a configuration may be."""
    size_bytes = len(text) if text.isascii() else len(text.encode(errors="replace"))
    if size_bytes > CONFIGURATION_BYTES_MAX:
        raise InvalidConfig(
            f"the configuration has {size_bytes:,} bytes; the limit is {CONFIGURATION_BYTES_MAX:,}. "
            "Put large values into files of the context directory, and read them from there."
        )


def check_document(document: Any) -> None:
    """Raises InvalidConfig for a document that was not read from YAML here, and has too many values or levels."""
    waiting, seen = [(document, 1)], 0
    while waiting:
        value, level = waiting.pop()
        if not isinstance(value, Mapping | list):
            continue
        if level > NESTING_MAX:
            raise too_deep()
        seen += 2 * len(value) if isinstance(value, Mapping) else len(value)
        if seen > VALUES_MAX:
            raise too_many_values()
        inner = value.values() if isinstance(value, Mapping) else value
        waiting.extend((one, level + 1) for one in inner)


def too_deep(where: str = "") -> InvalidConfig:
    return InvalidConfig(f"{where}objects and lists are nested more than {NESTING_MAX} deep, which is the limit")


def too_many_values() -> InvalidConfig:
    return InvalidConfig(
        f"with its aliases expanded the document holds more than {VALUES_MAX:,} keys and values, which is the limit"
    )
