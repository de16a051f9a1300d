"""The address of a master, in all the forms that people write it, and the one form that is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from determined.common.client.problems import ClientError

DEFAULT = "localhost:8080"
_PORTS = {"http": 80, "https": 443}


def canonical(text: str) -> str:
    """`scheme://host:port[/path]`, without a trailing slash.

    A bare host is taken to speak http on 8080; an address with a scheme has that scheme's port.
    """
    bare = "://" not in text
    url = urlsplit(f"http://{text}" if bare else text)
    if url.scheme not in _PORTS:
        raise _bad(text, f"the scheme {url.scheme!r} is not http or https")
    if url.username is not None or url.password is not None:
        raise _bad(text, "it carries a user name or password; give the user with -u")
    if url.query or url.fragment:
        raise _bad(text, "it carries a query or a fragment; leave out what follows the path")
    if not url.hostname:
        raise _bad(text, "it names no host")
    return f"{url.scheme}://{_host(url.hostname)}:{_port(text, bare, url.scheme)}{url.path.rstrip('/')}"


def choose(given: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """The master to talk to: `-m`, then DET_MASTER, then DET_MASTER_ADDR, then this host."""
    for text in (given, environment.get("DET_MASTER"), environment.get("DET_MASTER_ADDR")):
        if text:
            return canonical(text)
    return canonical(DEFAULT)


def _host(name: str) -> str:
    return f"[{name}]" if ":" in name else name


def _port(text: str, bare: bool, scheme: str) -> int:
    try:
        port = urlsplit(f"http://{text}" if bare else text).port
    except ValueError:
        raise _bad(text, "its port is not a number from 0 to 65535") from None
    return port if port is not None else 8080 if bare else _PORTS[scheme]


def _bad(text: str, why: str) -> ClientError:
    return ClientError(f"master address {text!r}: {why}. An address looks like http://host:8080")
