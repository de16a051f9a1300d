"""Which processes Prometheus shall ask for metrics. The command that starts the cluster writes them to a file.

The file is a JSON list. It is read again for each request, so that a process which joins later is found:
`[{"process": "searcher", "address": "searcher:9090", "each_address": true}]`. With `each_address` the name stands for
several replicas, as the name of a service does in Docker Compose: every address that it has is a target.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from resolute.api.monitoring.messages import TargetGroup
from resolute.proto.errors import Unavailable

RESOLVE_S = 2.0
"""How long looking up a name may take. A name that is not found has no targets: its processes do not run."""


class Target(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    process: str = Field(min_length=1, max_length=255)
    """`searcher-1`, `agent-2`, or `services` for the one process that is all of them."""
    address: str = Field(pattern=r"^[^\s/@]+:\d{1,5}$", max_length=300)
    """`host:port`."""
    each_address: bool = False


_TARGETS = TypeAdapter(tuple[Target, ...])


def read(file: Path | None) -> tuple[Target, ...]:
    """Raises Unavailable for a file that cannot be read: another process writes it, perhaps in a moment."""
    if file is None:
        return ()
    try:
        return _TARGETS.validate_json(file.read_bytes())
    except OSError as error:
        raise Unavailable(f"metrics_targets_file: cannot read {file}: {error.strerror}") from error
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise Unavailable(f"metrics_targets_file: {file}: {problem['loc']}: {problem['msg']}") from error


async def groups(targets: Sequence[Target]) -> list[TargetGroup]:
    """In the form of Prometheus' HTTP service discovery; a process that cannot be found is left out."""
    found = await asyncio.gather(*(_addresses(target) for target in targets))
    return [
        TargetGroup(targets=tuple(addresses), labels={"resolute_process": target.process})
        for target, addresses in zip(targets, found, strict=True)
        if addresses
    ]


async def _addresses(target: Target) -> list[str]:
    if not target.each_address:
        return [target.address]
    host, _, port = target.address.rpartition(":")
    try:
        async with asyncio.timeout(RESOLVE_S):
            known = await asyncio.get_running_loop().getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except (OSError, TimeoutError):
        return []
    return sorted({f"[{at[0]}]:{port}" if kind == socket.AF_INET6 else f"{at[0]}:{port}" for kind, *_, at in known})
