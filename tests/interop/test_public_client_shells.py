"""The public client's shells: by ssh through the gateway, as it calls ssh itself."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import needs
from tests.interop.conftest import PublicClient

WITHOUT_SLOTS = ("--config", "resources.slots=0")

pytestmark = needs.sshd


@pytest.fixture
def shell(public: PublicClient) -> Iterator[str]:
    """A shell that the client started."""
    shell_id = public.det("shell", "start", "-d", *WITHOUT_SLOTS).strip().splitlines()[-1]
    yield shell_id
    public.det("shell", "kill", shell_id)


def test_it_opens_a_shell_by_ssh_and_runs_a_program_there(public: PublicClient, shell: str) -> None:
    printed = public.det("shell", "open", shell, "echo $((6*7)) in $DET_TASK_ID")
    assert f"42 in {shell}" in printed
    assert f"det shell open {shell}" in printed
    assert shell in public.det("shell", "list")
    assert "resources" in public.det("shell", "config", shell)
    assert "Set priority" in public.det("shell", "set", "priority", shell, "7")
    assert "the shell listens" in public.det("shell", "logs", shell)


def test_the_command_that_it_shows_is_one_that_editors_can_use(
    public: PublicClient, shell: str, tmp_path: Path
) -> None:
    shown = public.det("shell", "show-ssh-command", shell)
    [line] = [line for line in shown.splitlines() if "ProxyCommand" in line]
    words = shlex.split(re.sub(r"\x1b\[[0-9;]*m", "", line))
    sent = b"any bytes \0\xff" * 10_000
    words.remove("-tt")
    copied = subprocess.run(
        [*words, "cat > copied && wc -c < copied"], input=sent, capture_output=True, timeout=60, check=True
    )
    assert int(copied.stdout) == len(sent)


def test_ours_opens_the_terminal_of_a_shell_too(public: PublicClient, shell: str) -> None:
    det = str(Path(sys.executable).parent / "det")
    variables = {"DET_MASTER": public.master, "DET_USER": "determined", "DET_PASS": "", "HOME": str(public.home)}
    typed = "echo $((6*7)) in $DET_TASK_ID\nexit 5\n"
    for options in (("--terminal",), ("--session", "mine")):
        ended = subprocess.run(
            [det, "shell", "open", *options, shell],
            input=typed,
            env={"PATH": "/usr/bin:/bin", **variables},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert ended.returncode == 5, ended
        assert f"42 in {shell}" in ended.stdout
    ended = subprocess.run(
        [det, "shell", "open", shell, "--", "echo by ssh; exit 7"],
        env={"PATH": "/usr/bin:/bin", **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (ended.returncode, "by ssh" in ended.stdout) == (7, True), ended
