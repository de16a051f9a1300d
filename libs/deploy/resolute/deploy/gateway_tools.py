"""What the operator of a cluster does with the gateway's own code: checks its read models, and manages its keys.

The command line imports no service; it asks for these here, where the parts of a cluster are put together. Each imports
what it needs when it is called, because the whole gateway takes long to import.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Note = Callable[[str, int, int], None]
"""Reports progress: the name of the work, how much is done, and how much there is."""


def check_read_models(database_url: str, note: Note, *, every_answer: bool) -> int:
    """Compare the read models with the log; the exit code of `resolute replay --check`."""
    from resolute.api import replay

    return replay.check(database_url, note, every_answer=every_answer)


def show_keys(database_url: str) -> int:
    from resolute.api import secrets_cli

    return secrets_cli.show(database_url)


def rotate_keys(database_url: str, file: Path | None, cluster_secret: bytes) -> int:
    """`file` holds the wrapping keys; `cluster_secret` opens what was wrapped before there was such a file."""
    from resolute.api import secrets_cli

    return secrets_cli.rotate(database_url, file, cluster_secret)


def forget_keys(database_url: str, name: str) -> int:
    """`name`: `experiment-7`, or `user-2` for everything that this user owns."""
    from resolute.api import secrets_cli

    return secrets_cli.forget(database_url, name)


def configured_database() -> str:
    """The database of a gateway that is configured by RESOLUTE_CONFIG and the environment."""
    from resolute.api.settings import load

    return load().database_url


def configured_keys() -> tuple[Path | None, bytes]:
    """The file of the wrapping keys and the cluster's secret, of a gateway that is configured in the same way."""
    from resolute.api.settings import load

    known = load()
    return known.sealing_keys, known.secret.get_secret_value().encode()
