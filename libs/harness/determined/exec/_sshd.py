"""sshd of the image, for one shell: its keys and its configuration, and how it is started for a connection.

It takes the key of the shell and nothing else, and runs as whoever the task runs as. A process of its own is started
for each connection (`sshd -i`), so that it opens no port.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PLACES = "/usr/sbin:/usr/local/sbin:/sbin"
"""Where sshd usually is, which the PATH of a user may leave out."""
SFTP = ("/usr/lib/openssh/sftp-server", "/usr/lib/ssh/sftp-server", "/usr/libexec/openssh/sftp-server")
SEPARATION = Path("/run/sshd")
"""The empty directory that sshd wants when it is started by root."""
PROGRAM_S = 30.0

_OF_SESSIONS = re.compile(r"(HOME|TERM|LANG|LC_.*|PWD|OLDPWD|SHLVL|SSH_.*|_)$")
"""Variables that a session gets from ssh, or that are about another process."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLES_MAX = 1_000
"""sshd takes 1,024 of them with a key."""

CONFIGURATION = """\
HostKey "{folder}/host_key"
AuthorizedKeysFile "{folder}/authorized_keys"
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
HostbasedAuthentication no
PubkeyAuthentication yes
PermitRootLogin prohibit-password
PermitUserEnvironment yes
AcceptEnv *
AllowTcpForwarding yes
AllowAgentForwarding yes
X11Forwarding yes
GatewayPorts no
PermitTunnel no
PrintMotd no
PrintLastLog no
LoginGraceTime 30
ClientAliveInterval 60
ClientAliveCountMax 10
ForceCommand /bin/sh "{folder}/session"
Subsystem sftp internal-sftp
"""

# A login shell would read /etc/profile, which on Debian undoes the PATH of the image.
SESSION = """\
case "$SSH_ORIGINAL_COMMAND" in
"") exec "$SHELL" ;;
internal-sftp | */sftp-server) exec {sftp} ;;
*) exec "$SHELL" -c "$SSH_ORIGINAL_COMMAND" ;;
esac
"""


class CannotServe(Exception):
    """There is no ssh here; the message says why."""


@dataclass(frozen=True)
class Sshd:
    words: tuple[str, ...]
    """Serve one connection, which is standard input and output."""
    user: str
    """The name that clients sign in with."""
    as_named: tuple[str, ...] = ()
    """What stands before the words of a program that is to find this user's name; nothing where the host knows it."""

    def serve(self, connection: socket.socket) -> subprocess.Popen[bytes]:
        """What it reports goes to the log of the task. Raises OSError."""
        return subprocess.Popen(self.words, stdin=connection.fileno(), stdout=connection.fileno())


def prepare(folder: Path, public_key: str, user: str, environment: Mapping[str, str], *, in_container: bool) -> Sshd:
    """Writes its files into `folder`, and tries it. `user`: the name that clients sign in with; empty for root.
    `environment`: what sessions find. Raises CannotServe."""
    sshd, keygen = _program("sshd", environment), _program("ssh-keygen", environment)
    sftp = next((place for place in SFTP if os.access(place, os.X_OK)), "false")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    options = ",".join(_options(environment))
    _write(folder / "authorized_keys", f"{options} {public_key}\n")
    _write(folder / "session", SESSION.format(sftp=sftp))
    _write(folder / "sshd_config", CONFIGURATION.format(folder=folder))
    name = user or "root"
    as_named = () if _is_known_as(name) else _renamed(folder, name, environment)
    if not (folder / "host_key").exists():
        _run((*as_named, keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "host_key")))
    if os.geteuid() == 0:
        SEPARATION.mkdir(mode=0o755, parents=True, exist_ok=True)
        if in_container:
            _unlock(name)
    start = (*as_named, sshd)
    configured = ("-f", str(folder / "sshd_config"))
    _run((*start, "-t", *configured))
    words = (*start, "-i", "-e", *configured)
    return Sshd(words, name, as_named)


def _program(name: str, environment: Mapping[str, str]) -> str:
    found = shutil.which(name, path=f"{environment.get('PATH', os.defpath)}:{PLACES}")
    if found is None:
        raise CannotServe(f"{name} is not installed here")
    return os.path.abspath(found)


def _options(environment: Mapping[str, str]) -> Iterator[str]:
    """What sessions find in their environment, as options of the key. What cannot be said so is left out: values of
    several lines, and those that end with a backslash."""
    named = [name for name in environment if _NAME.fullmatch(name) and not _OF_SESSIONS.match(name)]
    for name in named[:_VARIABLES_MAX]:
        value = environment[name]
        if not any(one in value for one in "\n\r\0") and not value.endswith("\\"):
            quoted = value.replace('"', '\\"')
            yield f'environment="{name}={quoted}"'


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def _run(words: tuple[str, ...]) -> None:
    """Raises CannotServe for what fails."""
    name = os.path.basename(words[0])
    try:
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=PROGRAM_S)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().replace("\r", "")
        raise CannotServe(f"{name}: {said.splitlines()[-1] if said else f'exit code {error.returncode}'}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotServe(f"{name}: {error}") from error


# ---------------------------------------------------------------- names


def _is_known_as(name: str) -> bool:
    """Whether that is the name of whoever this process runs as."""
    try:
        return pwd.getpwnam(name).pw_uid == os.geteuid()
    except KeyError:
        return False


def unlocked(name: str, shadow: str) -> str:
    """`/etc/shadow`, where the account has no password instead of being locked: sshd refuses locked accounts."""
    locked = re.compile(rf"^{re.escape(name)}:!+[^:]*:", re.MULTILINE)
    return locked.sub(f"{name}:*:", shadow)


def _unlock(name: str) -> None:
    """In a container, which has no other users."""
    shadow = Path("/etc/shadow")
    with contextlib.suppress(OSError):
        before = shadow.read_text(errors="surrogateescape")
        if (after := unlocked(name, before)) != before:
            shadow.write_text(after, errors="surrogateescape")


def _renamed(folder: Path, name: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The words that start a program for which this user has the name. On a host where tasks of each owner run as a
    user of their own, that user has no name at all, and sshd serves named users only."""
    if os.geteuid() == 0:
        raise CannotServe(f"the shell is to run as {name}, and it runs as root")
    users, groups = (Path(place).read_text(errors="surrogateescape") for place in ("/etc/passwd", "/etc/group"))
    _write(folder / "passwd", passwd(name, environment, users))
    # Without the group tty, to which sshd would give terminals: a user namespace may not.
    _write(folder / "group", without("tty", groups))
    _write(folder / "shadow", f"{name}:*:::::::\n")  # no password, and not locked: sshd refuses locked accounts
    return (sys.executable, "-m", "determined.exec._renamed", str(folder), name)


def passwd(name: str, environment: Mapping[str, str], known: str) -> str:
    """`/etc/passwd` for such a program: before its lines about others, one with the name that the task gives this user
    (USER), and one with the name that clients sign in with."""
    shell = next(one for one in (environment.get("SHELL", ""), "/bin/bash", "/bin/sh") if os.access(one, os.X_OK))
    home = environment.get("HOME", "/").replace(":", "")
    owner = environment.get("USER", "")
    own = [owner] if _NAME.fullmatch(owner) and owner != name and without(owner, known) == known else []
    lines = "".join(f"{one}:x:{os.geteuid()}:{os.getegid()}::{home}:{shell}\n" for one in (*own, name))
    return f"{lines}{without(name, known)}"


def without(name: str, known: str) -> str:
    """The lines of `/etc/passwd` or `/etc/group` about others."""
    return "".join(line for line in known.splitlines(keepends=True) if not line.startswith(f"{name}:"))
