"""What some tests need and not every machine has: marks that skip without it, or fail where it was promised.

`RESOLUTE_REQUIRE=docker,horovod,deepspeed,chromium,sshd,history` promises: CI sets it, so that nothing goes untested
there unnoticed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec

import pytest

from tests.releases import in_history

PROMISED = frozenset(filter(None, os.environ.get("RESOLUTE_REQUIRE", "").split(",")))


def _docker_answers() -> bool:
    tool = shutil.which("docker")
    if tool is None:
        return False
    try:
        return subprocess.run([tool, "info"], capture_output=True, timeout=20, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _compose() -> tuple[str, ...]:
    """The words that call Docker Compose here: of version 2, else of version 1; none where there is neither."""
    for words in (("docker", "compose"), ("docker-compose",)):
        if shutil.which(words[0]) is not None:
            found = subprocess.run([*words, "version"], capture_output=True, timeout=20, check=False)
            if found.returncode == 0:
                return words
    return ()


def _need(name: str, there: bool, remedy: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not there and name not in PROMISED, reason=f"{name} is not here; {remedy}")


docker = _need("docker", _docker_answers(), "`make docker` installs and starts it, as root")
COMPOSE = _compose()
compose = _need("docker", bool(COMPOSE), "Docker Compose comes with Docker, or as the package docker-compose")
horovod = _need("horovod", find_spec("horovod") is not None, "`make horovod` builds it, in 2 to 4 minutes")
deepspeed = _need("deepspeed", find_spec("deepspeed") is not None, "`make deepspeed` builds it, in 2 to 4 minutes")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
sshd = _need(
    "sshd", bool(SSHD and shutil.which("ssh")), "on Debian or Ubuntu: apt-get install openssh-server openssh-client"
)
chromium = _need("chromium", bool(CHROMIUM), "on Debian or Ubuntu: apt-get install chromium")
history = _need("history", in_history(), "the clone is shallow: `git fetch --unshallow` brings the last release")
