"""Shells: starting them, and opening them by ssh or in a terminal of their own."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from determined.cli.tunnel import Tunnel
from determined.common.client.trust import Trust
from resolute.cli import tasks_of_kind, terminal, viewer
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.readiness import until_ready
from resolute.cli.session import Session
from resolute.cli.tasks_of_kind import Kind

SHELL = Kind("shell")

OWNER_ONLY = "only its owner is told its key: ask the owner to share the screen (several may look at one session)"


def start(args: Namespace) -> int | None:
    opened = session(args)
    shell = tasks_of_kind.launch(opened, SHELL, args, tasks_of_kind.config_of(args))["shell"]
    if args.detach:
        print(shell["id"])
        return None
    print(f"Launched shell (id: {shell['id']}, name: {shell['description']}).")
    return _entered(opened, shell["id"], args)


def open_(args: Namespace) -> int | None:
    opened = session(args)
    shell_id = tasks_of_kind.whole_id(opened, SHELL, args.shell_id)
    if opened.get(SHELL.path(shell_id))["shell"]["state"] == "STATE_TERMINATED":
        print("Shell has ended", file=sys.stderr)
        return 1
    return _entered(opened, shell_id, args)


def show_ssh_command(args: Namespace) -> int | None:
    opened = session(args)
    shell_id = tasks_of_kind.whole_id(opened, SHELL, args.shell_id)
    if not until_ready(opened, SHELL, shell_id):
        return 1
    shell = _shell(opened, shell_id)
    _login_name(_tunnel(opened, shell_id), shell)
    _show_command(opened, shell, args.ssh_opts)
    return None


def show_ssh_command_by_its_old_name(args: Namespace) -> int | None:
    print("show_ssh_command is the old name of show-ssh-command, and will be removed", file=sys.stderr)
    return show_ssh_command(args)


def _entered(opened: Session, shell_id: str, args: Namespace) -> int | None:
    """The exit status of what the person did inside."""
    if not until_ready(opened, SHELL, shell_id):
        return 1
    print(f"shell (id: {shell_id}) is ready.")
    shell, tunnel = _shell(opened, shell_id), _tunnel(opened, shell_id)
    token = shell["addresses"][0]["token"]
    if args.show_ssh_command:
        _show_command(opened, shell, args.ssh_opts)
    by_ssh = not (args.terminal or args.session) and _has_ssh(tunnel, token, args.ssh_opts or args.show_ssh_command)
    if by_ssh:
        with _key_file(shell) as key:
            status: int | None = subprocess.run(_ssh(opened, shell, key, args.ssh_opts), check=False).returncode
    else:
        status = viewer.view(tunnel, token, args.session or "main")
    again = f"To reconnect, run: det shell open {shell_id}"
    print(terminal.colour(again, "green", sys.stdout))
    return status


def _has_ssh(tunnel: Tunnel, token: str, needed: bool) -> bool:
    """Raises CliError where ssh is needed and missing on either side."""
    here, there = shutil.which("ssh") is not None, bool(viewer.ask(tunnel, token)["ssh"])
    if needed and not (here and there):
        where = "this machine has no ssh" if there else "the image of this shell has no sshd that can be used"
        raise CliError(f"options of ssh need ssh on both sides, and {where}: leave them out, and get a terminal")
    return here and there


def _login_name(tunnel: Tunnel, shell: Mapping[str, Any]) -> None:
    """Raises CliError where nobody can sign in by ssh."""
    if not viewer.ask(tunnel, shell["addresses"][0]["token"])["ssh"]:
        raise CliError(
            "the image of this shell has no sshd that can be used (its log says why: "
            f"det shell logs {shell['id']}); det shell open gives a terminal"
        )


def _shell(opened: Session, shell_id: str) -> dict[str, Any]:
    shell: dict[str, Any] = opened.get(SHELL.path(shell_id))["shell"]
    if not shell.get("privateKey"):
        raise CliError(f"shell {shell_id} belongs to {shell['username']}; {OWNER_ONLY}")
    return shell


def _tunnel(opened: Session, shell_id: str) -> Tunnel:
    return Tunnel(opened.master, shell_id, opened.token)


# ---------------------------------------------------------------- ssh


def _ssh(opened: Session, shell: Mapping[str, Any], key: Path, options: Sequence[str]) -> list[str]:
    return [
        "ssh",
        *("-o", f"ProxyCommand={_proxy_command(opened)}"),
        *("-o", "StrictHostKeyChecking=no"),
        "-tt",
        *("-o", "IdentitiesOnly=yes"),
        *("-i", str(key)),
        f"{_user(shell)}@{shell['id']}",
        *options,
    ]


def _user(shell: Mapping[str, Any]) -> str:
    return str(shell["agentUserGroup"]["user"] or "root")


def _proxy_command(opened: Session) -> str:
    """It says all that it needs, so that editors which start ssh themselves can use it."""
    words = [sys.executable, "-m", "determined.cli.tunnel", opened.master, "%h", "--auth"]
    if opened.user:
        words += ["-u", opened.user]
    trust = Trust.of(opened.master)
    if not trust.verify:
        words += ["--cert-file", "noverify"]
    elif trust.cafile:
        words += ["--cert-file", os.path.abspath(trust.cafile)]
    if trust.server_name:
        words += ["--cert-name", trust.server_name]
    return shlex.join(words)


@contextlib.contextmanager
def _key_file(shell: Mapping[str, Any]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="det-shell-") as folder:
        yield _write_key(Path(folder) / "key", shell)


def _show_command(opened: Session, shell: Mapping[str, Any], options: Sequence[str]) -> None:
    """Prints it, and keeps the key for it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "determined" / "shell" / str(shell["id"])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = _write_key(folder / "key", shell)
    print(terminal.colour(subprocess.list2cmdline(_ssh(opened, shell, key, options)), "green", sys.stdout))
    block = (
        f"Host {shell['id']}",
        f"    User {_user(shell)}",
        f"    IdentityFile {key}",
        "    IdentitiesOnly yes",
        "    StrictHostKeyChecking no",
        f"    ProxyCommand {_proxy_command(opened)}",
    )
    print("For editors, add this to ~/.ssh/config:", *block, sep="\n", file=sys.stderr)


def _write_key(path: Path, shell: Mapping[str, Any]) -> Path:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(shell["privateKey"])
    return path


list_ = partial(tasks_of_kind.list_, SHELL)
config = partial(tasks_of_kind.config, SHELL)
logs_ = partial(tasks_of_kind.logs_of, SHELL)
kill = partial(tasks_of_kind.kill, SHELL)
set_priority = partial(tasks_of_kind.set_priority, SHELL)
