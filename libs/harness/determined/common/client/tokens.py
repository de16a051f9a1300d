"""The token store: the logins at each master, in `auth.json` of the user's configuration directory.

The file is shared with other clients of the same wire (version 2: canonical master address ->
active user and tokens by user name). It is written whole, beside the old one, and readable by its owner only.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from determined.common.client.problems import ClientError

VERSION = 2


def directory(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Where this user's client keeps its state: `determined/` in the platform's place for configuration."""
    if path := environment.get("DET_DEBUG_CONFIG_PATH"):
        return Path(path)
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "determined"
    if platform == "win32":
        return Path(environment.get("LOCALAPPDATA", str(Path.home()))) / "determined"
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "determined"


def kept_certificate(master: str) -> str | None:
    """The certificate that this user chose to trust for `master`, as PEM text in `certs.json`."""
    try:
        kept = json.loads((directory() / "certs.json").read_text())
    except (FileNotFoundError, ValueError):
        return None
    return kept.get(master) if isinstance(kept, dict) else None


@dataclass(frozen=True, slots=True)
class Logins:
    """The users that are logged in at one master."""

    active_user: str | None = None
    tokens: Mapping[str, str] = field(default_factory=dict)

    def with_token(self, user: str, token: str) -> Logins:
        return replace(self, tokens={**self.tokens, user: token})

    def without(self, user: str) -> Logins:
        tokens = {name: token for name, token in self.tokens.items() if name != user}
        return Logins(None if self.active_user == user else self.active_user, tokens)


class TokenStore:
    """The logins of every master, on disk. Each change reads, alters and replaces the file under a lock."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or directory() / "auth.json"

    def at(self, master: str) -> Logins:
        return self._read().get(master, Logins())

    def put(self, master: str, logins: Logins) -> None:
        with self._locked():
            masters = self._read()
            masters[master] = logins
            self._write({name: each for name, each in masters.items() if each != Logins()})

    def _read(self) -> dict[str, Logins]:
        try:
            document = json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ClientError(f"cannot read {self.path}: {error}. Remove it and log in again") from error
        if not isinstance(document, dict) or document.get("version") != VERSION:
            return {}  # a store of another age; it is replaced at the next login
        return {master: _logins(entry) for master, entry in document.get("masters", {}).items()}

    def _write(self, masters: Mapping[str, Logins]) -> None:
        document = {
            "version": VERSION,
            "masters": {name: {**_active(logins), "tokens": dict(logins.tokens)} for name, logins in masters.items()},
        }
        fresh = self.path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(document, file, indent=4, sort_keys=True)
        os.replace(fresh, self.path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(self.path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _active(logins: Logins) -> dict[str, str]:
    """The key is left out where no user is active: other clients take a null there for a broken file, and delete the
    file."""
    return {} if logins.active_user is None else {"active_user": logins.active_user}


def _logins(entry: Any) -> Logins:
    return Logins(entry.get("active_user"), dict(entry.get("tokens") or {}))
