"""The port of a shell: who speaks ssh gets to sshd, with ssh itself; who speaks the terminal's protocol gets that."""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from determined.common import terminal
from determined.exec import _sshd, shell
from determined.exec._terminal import Terminals
from resolute.api.interactive import shell_keys
from tests import needs

PATIENCE_S = 30.0
SECRET = b"of the cluster"
PAIR = shell_keys.of(SECRET, "0f8fad5b")
VARIABLES = {"DET_TASK_ID": "0f8f", "QUOTED": 'say "hello" \\"', "LINES_OF_TEXT": "a\nb", "HOME": "/elsewhere"}


@dataclass
class Scene:
    port: int
    key: Path
    user: str

    async def ssh(self, *words: str, key: Path | None = None, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
        options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "IdentitiesOnly=yes", "LogLevel=ERROR")
        process = await asyncio.create_subprocess_exec(
            *("ssh", "-p", str(self.port), "-i", str(key or self.key), "-F", "none"),
            *(word for option in options for word in ("-o", option)),
            *("-o", "BatchMode=yes", f"{self.user}@127.0.0.1", *words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE_S):
            out, errors = await process.communicate(stdin)
        assert process.returncode is not None
        return process.returncode, out, errors


@asynccontextmanager
async def opened(folder: Path, environment: dict[str, str], *, with_ssh: bool = True) -> AsyncIterator[Scene]:
    user = pwd.getpwuid(os.geteuid()).pw_name
    sshd = None
    if with_ssh:
        sshd = _sshd.prepare(folder / "ssh", PAIR.public, user, environment, in_container=False)
    key = folder / "key"
    key.write_text(PAIR.private)
    key.chmod(0o600)
    listening = shell.listener({"SHELL_PORT": "0", "DET_RUN_DIR": str(folder)})
    terminals = Terminals("token", ["/bin/sh"], environment, str(folder), user)
    serving = asyncio.create_task(shell.Door(listening, terminals, sshd).open())
    try:
        yield Scene(listening.getsockname()[1], key, user)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        listening.close()


@needs.sshd
async def test_ssh_enters_with_the_key_of_the_shell_and_finds_the_environment_of_the_task(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], **VARIABLES}
    async with opened(tmp_path, environment) as scene:
        code, out, errors = await scene.ssh("echo $DET_TASK_ID; echo $QUOTED; echo ${LINES_OF_TEXT:-none}; exit 7")
        assert (code, out.decode().splitlines()) == (7, ["0f8f", 'say "hello" \\"', "none"]), errors
        _, home, _ = await scene.ssh("echo $HOME")
        assert home.strip() == pwd.getpwuid(os.geteuid()).pw_dir.encode()
        _, copied, _ = await scene.ssh("cat", stdin=b"any bytes \0\xff" * 100_000)
        assert copied == b"any bytes \0\xff" * 100_000
        _, shown, _ = await scene.ssh("-tt", stdin=b"tty && exit 3\n")
        assert b"/dev/pts/" in shown


@needs.sshd
async def test_another_key_does_not_open_it(tmp_path: Path) -> None:
    async with opened(tmp_path, {"PATH": os.environ["PATH"]}) as scene:
        other = tmp_path / "other"
        other.write_text(shell_keys.of(SECRET, "another shell").private)
        other.chmod(0o600)
        code, _, errors = await scene.ssh("true", key=other)
        assert (code, b"Permission denied" in errors) == (255, True)


@needs.sshd
async def test_files_are_copied_and_ports_are_forwarded(tmp_path: Path) -> None:
    async with opened(tmp_path, {"PATH": os.environ["PATH"]}) as scene:
        (tmp_path / "file").write_bytes(os.urandom(300_000))
        where = ("-P", str(scene.port), "-i", str(scene.key), "-F", "none", "-o", "StrictHostKeyChecking=no")
        known = ("-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes")
        target = f"{scene.user}@127.0.0.1:{tmp_path}/copied"
        copying = await asyncio.create_subprocess_exec("scp", *where, *known, str(tmp_path / "file"), target)
        assert await asyncio.wait_for(copying.wait(), PATIENCE_S) == 0
        assert (tmp_path / "copied").read_bytes() == (tmp_path / "file").read_bytes()
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            forwarding = asyncio.create_task(scene.ssh("-W", f"127.0.0.1:{port}", stdin=b"through the shell"))
            server.setblocking(False)
            taken, _ = await asyncio.wait_for(asyncio.get_running_loop().sock_accept(server), PATIENCE_S)
            with taken:
                got = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(taken, 100), PATIENCE_S)
            assert got == b"through the shell"
            await forwarding


async def test_the_terminal_is_at_the_same_port_and_strangers_are_sent_away(tmp_path: Path) -> None:
    async with opened(tmp_path, {"PATH": os.environ["PATH"]}, with_ssh=False) as scene:
        reader, writer = await asyncio.open_connection("127.0.0.1", scene.port)
        writer.write(terminal.GREETING + terminal.document(terminal.HELLO, token="token", ask=True))
        async with asyncio.timeout(PATIENCE_S):
            [(kind, _)] = terminal.Frames().feed(await reader.read())
            assert kind == terminal.WELCOME
        for said in (b"SSH-2.0-test\r\n", b"GET / HTTP/1.1\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", scene.port)
            writer.write(said)
            with pytest.MonkeyPatch.context():
                assert await asyncio.wait_for(_rest(reader), PATIENCE_S) == b""
            writer.close()


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


def test_a_shell_without_a_port_or_at_a_port_that_is_taken_says_so(tmp_path: Path) -> None:
    with pytest.raises(shell.CannotServe, match="SHELL_PORT"):
        shell.listener({})
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(shell.CannotServe, match="cannot listen on port"),
    ):
        shell.listener({"SHELL_PORT": str(taken.getsockname()[1]), "DET_RUN_DIR": str(tmp_path)})


def test_an_image_without_sshd_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sshd, "PLACES", str(tmp_path))
    with pytest.raises(_sshd.CannotServe, match="sshd is not installed"):
        _sshd.prepare(tmp_path / "ssh", PAIR.public, "", {"PATH": str(tmp_path)}, in_container=False)


def test_the_names_of_a_user_that_the_host_does_not_know() -> None:
    known = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/usr/sbin/nologin\n"
    written = _sshd.passwd("root", {"HOME": "/homes/5", "SHELL": "/bin/sh"}, known).splitlines()
    assert written == [f"root:x:{os.geteuid()}:{os.getegid()}::/homes/5:/bin/sh", known.splitlines()[1]]
    owned = _sshd.passwd("root", {"HOME": "/h", "SHELL": "/bin/sh", "USER": "ada"}, known).splitlines()
    assert [line.split(":")[0] for line in owned] == ["ada", "root", "daemon"], "the first is what it is called"
    for taken in ("daemon", "root", "no:name", ""):
        assert _sshd.passwd("root", {"USER": taken}, known).count("\n") == 2
    assert _sshd.without("tty", "tty:x:5:\nttyd:x:6:\n") == "ttyd:x:6:\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("root:!:1:0:::::\nsshd:!:1:::::\n", "root:*:1:0:::::\nsshd:!:1:::::\n"),
        ("root:!!$6$hash:1:0:::::\n", "root:*:1:0:::::\n"),
        ("root:*:1:0:::::\n", "root:*:1:0:::::\n"),
        ("root:$6$hash:1:0:::::\n", "root:$6$hash:1:0:::::\n"),
        ("rooted:!:1:0:::::\n", "rooted:!:1:0:::::\n"),
    ],
)
def test_a_locked_account_of_a_container_is_one_without_a_password(before: str, after: str) -> None:
    assert _sshd.unlocked("root", before) == after


def test_the_key_pair_follows_from_the_secret_and_the_shell_alone() -> None:
    again = shell_keys.of(SECRET, "0f8fad5b")
    assert again.public == PAIR.public
    assert shell_keys.of(SECRET, "0f8fad5c").public != PAIR.public
    assert shell_keys.of(b"another secret", "0f8fad5b").public != PAIR.public
    assert PAIR.private.startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert PAIR.private.endswith("-----END OPENSSH PRIVATE KEY-----\n")
    assert PAIR.private not in repr(PAIR)
