"""How large the body of a request may be: each route declares which kind of body it takes, each kind has a limit.

The gateway applies the limit before it parses anything: to what `Content-Length` says, and while it reads.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20

NESTING_MAX = 64
"""Objects and lists inside each other, in any body."""

CONTAINERS_MAX = 150_000
"""Objects and lists in any body: parsing more would hold the interpreter for longer than 100 ms. What is counted are
opening brackets, those within texts as well."""


@dataclass(frozen=True, slots=True)
class BodyKind:
    """`name` is how an error calls a body of this kind."""

    name: str
    limit_bytes: int


ORDINARY = BodyKind("a request of this kind", MIB)
CONFIGURATION = BodyKind("a configuration", 5 * MIB // 2)
"""A configuration's own limit is 1 MiB of text (`resolute.config.bounds`); as JSON it takes up to some more."""
SUBMISSION = BodyKind("an experiment with its context directory", 130 * MIB)
"""95 MiB of files, which base64 makes 127 MiB, and a configuration."""
LAUNCH = BodyKind("a task with its context directory", 130 * MIB)
METRICS = BodyKind("a batch of metrics", 4 * MIB)
LOG_LINES = BodyKind("a batch of log lines", 4 * MIB)
CHECKPOINT_FILES = BodyKind("a list of a checkpoint's files", 4 * MIB)
SHARE = BodyKind(
    "what a peer brings to an all-gather (write large data to the shared storage, and gather its path)", MIB
)
FROM_STRANGERS = BodyKind("a request of somebody who is not signed in", 65_536)
PASSED_ON = BodyKind("a request to a task", 2**63)
"""Not read by the gateway, but passed on as it comes, however long it is."""

KINDS = (
    ORDINARY,
    CONFIGURATION,
    SUBMISSION,
    LAUNCH,
    METRICS,
    LOG_LINES,
    CHECKPOINT_FILES,
    SHARE,
    FROM_STRANGERS,
    PASSED_ON,
)

REPORTS_MAX = 5_000
"""Of metrics, in one batch."""
LINES_MAX = 10_000
"""Of a log, in one batch."""
