"""`resolute secrets`: the keys that protect the secrets of configurations, for operators of a cluster."""

from __future__ import annotations

from pathlib import Path

from resolute.cli.surface.history import CLUSTER_NAME, WHERE
from resolute.cli.tree import Command, arg

SECRETS = Command(
    "secrets",
    "manage the keys of secrets",
    commands=(
        Command(
            "show",
            "show the keys of secrets",
            run="secrets:show",
            args=(WHERE, CLUSTER_NAME),
        ),
        Command(
            "rotate",
            "rotate the wrapping key",
            run="secrets:rotate",
            args=(
                arg("--keys", type=Path, metavar="FILE", help="the wrapping keys; an embedded cluster's otherwise"),
                WHERE,
                CLUSTER_NAME,
            ),
        ),
        Command(
            "forget",
            "forget secrets for good",
            run="secrets:forget",
            args=(arg("whose", help="experiment-NUMBER, or user-NUMBER for all that a user owns"), WHERE, CLUSTER_NAME),
        ),
    ),
)

OF_RESOLUTE = (SECRETS,)
