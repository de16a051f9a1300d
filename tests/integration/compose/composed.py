"""A cluster in containers, one service each, by the compose file that people use; its client speaks TLS."""

from __future__ import annotations

import json
import os
import secrets
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests import needs
from tests.integration.cluster.local import ROOT, until
from tests.ports import free_port

FILES = ("-f", "compose/compose.yaml", "-f", "compose/offline/compose.yaml")
BUILT = ("init", "agent", "postgres", "nats", "front")
"""Services whose images are all images."""


class Composed:
    def __init__(self, home: Path) -> None:
        self.home, self.name = home, f"resolute-test-{secrets.token_hex(4)}"
        self.port = free_port()
        self.url, self.ca = f"https://localhost:{self.port}", home / "ca.crt"
        self._env = {
            **os.environ,
            "RESOLUTE_CLUSTER": self.name,
            "RESOLUTE_LISTEN": f"127.0.0.1:{self.port}",
            "RESOLUTE_AGENT_SLOTS": "1",
            "RESOLUTE_VERSION": "test",
        }
        self.password = self._token = ""

    def __call__(self, *words: str, check: bool = True) -> str:
        """`docker compose` with these words; what it prints."""
        return self._run([*needs.COMPOSE, "-p", self.name, *FILES, *words], self._env, check)

    def bytes_of(self, *words: str, given: bytes = b"") -> bytes:
        """The same with bytes, in and out."""
        command = [*needs.COMPOSE, "-p", self.name, *FILES, *words]
        done = subprocess.run(
            command, input=given, env=self._env, capture_output=True, timeout=120, check=False, cwd=ROOT
        )
        assert done.returncode == 0, f"{' '.join(command)} exited with {done.returncode}:\n{done.stderr.decode()}"
        return done.stdout

    def up(self, *words: str) -> None:
        self("up", "-d", *words)
        self.ca.write_text(self("exec", "-T", "api", "cat", "/run/resolute/trust/ca.crt"))
        self.password = self("exec", "-T", "api", "cat", "/run/resolute/gateway/password")
        self._token = ""
        until("the gateway answers", lambda: self.get("/api/v1/master"), 90)

    def det(self, *words: str, **environment: str) -> str:
        entry = "import sys; from resolute.cli.main import det; sys.argv[0] = 'det'; sys.exit(det())"
        told = {
            "DET_MASTER": self.url,
            "DET_MASTER_CERT_FILE": str(self.ca),
            "DET_USER": "determined",
            "DET_PASS": self.password,
            "XDG_CONFIG_HOME": str(self.home / "config"),
            **environment,
        }
        return self._run([sys.executable, "-c", entry, *words], {**os.environ, **told}, True)

    def get(self, path: str) -> Any:
        """One REST answer, as user determined."""
        trusted = ssl.create_default_context(cafile=str(self.ca))
        if not self._token:
            body = json.dumps({"username": "determined", "password": self.password}).encode()
            with urlopen(Request(f"{self.url}/api/v1/auth/login", body), timeout=10, context=trusted) as answer:
                self._token = json.load(answer)["token"]
        asked = Request(f"{self.url}{path}", headers={"Authorization": f"Bearer {self._token}"})
        with urlopen(asked, timeout=10, context=trusted) as answer:
            return json.load(answer)

    def containers(self, service: str) -> list[str]:
        return self("ps", "-q", service).split()

    def _run(self, command: list[str], environment: dict[str, str], check: bool) -> str:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout


@contextmanager
def composed(home: Path) -> Iterator[Composed]:
    cluster = Composed(home)
    try:
        cluster("build", "-q", *BUILT)
        cluster.up()
        yield cluster
    finally:
        cluster("down", "-v", "--remove-orphans", check=False)
