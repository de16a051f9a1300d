"""Ports of a trial at ports of this machine: `det experiment create -f -p [local:]port`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resolute.cli.errors import CliError
from resolute.cli.session import Session


@dataclass(frozen=True, slots=True)
class Published:
    """A port of the trial, and the port of this machine where it is reached."""

    local: int
    port: int


def parsed(words: Sequence[str], follows: bool) -> tuple[Published, ...]:
    """What `-p` says. Raises CliError."""
    if words and not follows:
        raise CliError("-p makes ports reachable for as long as the first trial is followed: say -f too")
    return tuple(map(_parsed, words))


def _parsed(word: str) -> Published:
    local, _, port = word.rpartition(":")
    numbers = [int(one) if one.isdecimal() else 0 for one in (local or port, port)]
    if not all(0 < one < 65_536 for one in numbers):
        raise CliError(f"-p: expected PORT or LOCAL:PORT, such as 8080 or 8000:8080; found {word!r}")
    return Published(*numbers)


def with_ports(config: dict[str, Any], published: Sequence[Published]) -> dict[str, Any]:
    """The configuration with the ports among its `environment.proxy_ports`: the same object where they are there."""
    environment = config.get("environment") or {}
    named = environment.get("proxy_ports") if isinstance(environment, Mapping) else None
    if not isinstance(environment, Mapping) or not isinstance(named or [], list):
        return config  # the master says what is wrong with it
    known = {one.get("proxy_port"): one for one in named or [] if isinstance(one, Mapping)}
    for one in published:
        if one.port in known and not known[one.port].get("proxy_tcp"):
            raise CliError(f"-p {one.port}: write proxy_tcp: true at this port of environment.proxy_ports")
    lacking = [one.port for one in published if one.port not in known]
    if not lacking:
        return config
    added = [{"proxy_port": port, "proxy_tcp": True} for port in dict.fromkeys(lacking)]
    return {**config, "environment": {**environment, "proxy_ports": [*(named or []), *added]}}


def as_text(config: Mapping[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(dict(config), sort_keys=False)


def publish(opened: Session, task_id: str, published: Sequence[Published]) -> None:
    """Listens on loopback from now on, until the program ends. Raises CliError for a port that cannot be used."""
    from determined.cli.tunnel import Tunnel, listener, serve
    from determined.common.client.problems import ClientError

    for one in published:
        tunnel = Tunnel(opened.master, f"{task_id}:{one.port}", opened.token)
        try:
            listening = listener(one.local)
        except ClientError as error:
            raise CliError(f"-p: {error}") from error
        threading.Thread(target=serve, args=(tunnel, listening), daemon=True).start()
        print(f"Port {one.port} of the trial is reached at 127.0.0.1:{one.local}", file=sys.stderr)
