"""The terminal of a shell, with real programs on real pseudo-terminals, over real connections."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from determined.common import terminal
from determined.common.terminal import Frames, Malformed, document, frame, read_document
from determined.exec import _terminal
from determined.exec._terminal import Terminals

PATIENCE_S = 20.0
TOKEN = "of the owner"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "PS1": "$ ", "HISTFILE": ""}


@dataclass
class Seen:
    """What one viewer has of the terminal."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    frames: Frames = field(default_factory=Frames)
    documents: dict[bytes, Any] = field(default_factory=dict)
    text: bytearray = field(default_factory=bytearray)
    looked: int = 0
    """How much of the text was searched."""

    async def until(self, wanted: bytes) -> None:
        """Until that is shown."""
        await self._until(lambda: self._shows(wanted))

    async def told(self, kind: bytes) -> Any:
        """The document of that kind, when it has come."""
        await self._until(lambda: kind in self.documents)
        return self.documents[kind]

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                data = await self.reader.read(65_536)
                assert data, f"the terminal left; it showed {self.text[-2000:]!r}, {self.documents}"
                for kind, content in self.frames.feed(data):
                    if kind == terminal.OUTPUT:
                        self.text += content
                    else:
                        self.documents[kind] = read_document(content)

    def _shows(self, wanted: bytes) -> bool:
        found = self.text.find(wanted, max(0, self.looked - len(wanted)))
        self.looked = len(self.text) if found < 0 else found + len(wanted)
        return found >= 0

    def type(self, text: str) -> None:
        self.writer.write(frame(terminal.INPUT, text.encode()))

    def say(self, kind: bytes, **said: Any) -> None:
        self.writer.write(document(kind, **said))

    async def leave(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


@dataclass
class Scene:
    terminals: Terminals
    port: int

    @asynccontextmanager
    async def viewer(self, greeting: bytes = terminal.GREETING, **said: Any) -> AsyncIterator[Seen]:
        """A viewer that says hello with `said`."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)  # otherwise the kernel takes megabytes
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=connection)
        writer.write(greeting + document(terminal.HELLO, **{"token": TOKEN, "term": "dumb", **said}))
        seen = Seen(reader, writer)
        try:
            yield seen
        finally:
            writer.transport.abort()


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.01)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    terminals = Terminals(TOKEN, ["/bin/sh"], ENVIRONMENT, str(tmp_path), "root")
    server = await asyncio.start_server(terminals.serve, "127.0.0.1", 0)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGCHLD, terminals.reap)
    async with server:
        yield Scene(terminals, server.sockets[0].getsockname()[1])
        terminals.hang_up()
        async with asyncio.timeout(PATIENCE_S):
            await until(lambda: not terminals.sessions)
    loop.remove_signal_handler(signal.SIGCHLD)


async def test_what_is_typed_runs_and_the_exit_status_comes_at_the_end(scene: Scene, tmp_path: Path) -> None:
    async with scene.viewer() as seen:
        seen.type("pwd; echo $((6*7)) $TERM\n")
        await seen.until(b"42 dumb")
        assert str(tmp_path).encode() in seen.text, "it begins where the context is"
        seen.type("exit 7\n")
        await seen.told(terminal.ENDED)
        assert seen.documents[terminal.ENDED] == {"status": 7}
        assert scene.terminals.sessions == {}
        assert await asyncio.wait_for(seen.reader.read(), PATIENCE_S) == b"", "the terminal leaves first"


async def test_a_session_goes_on_when_nobody_looks_and_shows_what_was_missed(scene: Scene, tmp_path: Path) -> None:
    async with scene.viewer() as seen:
        seen.type("kept=here; echo started\n")
        await seen.until(b"started\r\n")
        seen.type("(while [ ! -e go ]; do :; done; echo missed) &\n")
        await seen.until(b"go ]")
        await seen.leave()
    session = scene.terminals.sessions["main"]
    async with asyncio.timeout(PATIENCE_S):
        await until(lambda: not session.viewers)
    (tmp_path / "go").touch()
    async with scene.viewer() as again:
        await again.until(b"missed\r\n")
        assert b"started\r\n" in again.text
        again.type("echo still $kept\n")
        await again.until(b"still here")


async def test_a_viewer_that_lost_its_connection_is_told_how_the_session_ended(scene: Scene) -> None:
    async with scene.viewer(session="work") as seen:
        seen.type("echo do''ne; exit 3\n")
        assert await seen.told(terminal.ENDED) == {"status": 3}
    async with scene.viewer(session="work", again=True) as again:
        assert await again.told(terminal.ENDED) == {"status": 3}
        await again.until(b"done\r\n")
    async with scene.viewer(session="never begun", again=True) as wrong:
        assert "has ended" in (await wrong.told(terminal.REFUSED))["message"]
    async with scene.viewer(session="work") as new:
        assert (await new.told(terminal.WELCOME))["session"] == "work", "without `again` another one begins"
    assert scene.terminals.sessions.keys() == {"work"}


async def test_several_may_look_at_one_session_and_each_may_type(scene: Scene) -> None:
    async with scene.viewer() as one, scene.viewer() as other:
        await one.told(terminal.WELCOME)
        await other.told(terminal.WELCOME)
        assert {seen.documents[terminal.WELCOME]["viewers"] for seen in (one, other)} == {1, 2}
        one.type("echo a$((1+1))\n")
        await other.until(b"a2")
        other.type("echo b$((1+1))\n")
        await one.until(b"b2")
    async with scene.viewer(session="another") as third:
        third.type("echo alone\n")
        await third.until(b"alone\r\n")
        assert b"a2" not in third.text


async def test_the_program_knows_the_size_of_the_window(scene: Scene) -> None:
    async with scene.viewer(rows=40, columns=100) as seen:
        seen.type("stty size\n")
        await seen.until(b"40 100")
        seen.say(terminal.SIZE, rows=50, columns=132)
        seen.type("stty size\n")
        await seen.until(b"50 132")


async def test_control_c_interrupts_what_runs(scene: Scene) -> None:
    async with scene.viewer() as seen:
        seen.type("echo on; sleep 600; echo off\n")
        await seen.until(b"on\r\n")
        seen.type("\x03")
        seen.type("echo next$((1+1))\n")
        await seen.until(b"next2")


async def test_without_the_token_of_the_shell_nobody_gets_in(scene: Scene) -> None:
    for token in ("another", None, 5, ["of the owner"]):
        async with scene.viewer(token=token) as seen:
            await seen.told(terminal.REFUSED)
            assert "token" in seen.documents[terminal.REFUSED]["message"]
    assert scene.terminals.sessions == {}


async def test_a_viewer_may_ask_what_there_is(scene: Scene) -> None:
    async with scene.viewer(session="mine") as seen:
        await seen.told(terminal.WELCOME)
        async with scene.viewer(ask=True) as asks:
            await asks.told(terminal.WELCOME)
            assert asks.documents[terminal.WELCOME] == {"ssh": True, "user": "root", "sessions": ["mine"]}


@pytest.mark.parametrize(
    ("said", "about"),
    [
        ({"session": "../etc"}, "session"),
        ({"session": "x" * 65}, "session"),
        ({"term": "a b"}, "term"),
        ({"rows": 0}, "rows"),
        ({"columns": 10**9}, "rows"),
        ({"rows": "many"}, "rows"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_name(scene: Scene, said: dict[str, Any], about: str) -> None:
    async with scene.viewer(**said) as seen:
        await seen.told(terminal.REFUSED)
        assert about in seen.documents[terminal.REFUSED]["message"]


async def test_sessions_and_viewers_are_limited(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_terminal, "SESSIONS_MAX", 1)
    monkeypatch.setattr(_terminal, "VIEWERS_MAX", 1)
    async with scene.viewer() as seen:
        await seen.told(terminal.WELCOME)
        async with scene.viewer() as second:
            await second.told(terminal.REFUSED)
            assert "viewers" in second.documents[terminal.REFUSED]["message"]
        async with scene.viewer(session="other") as third:
            await third.told(terminal.REFUSED)
            assert "sessions" in third.documents[terminal.REFUSED]["message"]


async def test_a_program_waits_for_the_only_viewer_and_nothing_is_lost(scene: Scene) -> None:
    async with scene.viewer() as seen:
        seen.type("stty -echo; echo; seq 1 1500000; echo al''l\n")
        async with asyncio.timeout(PATIENCE_S):
            await until(lambda: "main" in scene.terminals.sessions)
            session = scene.terminals.sessions["main"]
            await until(lambda: not session._is_read)
        assert max(viewer.behind for viewer in session.viewers) < 2 * _terminal.WAIT_BYTES
        await seen.until(b"all\r\n")
        numbers = [int(line) for line in seen.text.split(b"\r\n") if line.isdigit()]
        assert numbers == list(range(1, 1_500_001))


async def test_a_viewer_that_is_too_far_behind_the_others_is_cut_off(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_terminal, "BEHIND_BYTES", 600_000)
    async with scene.viewer() as slow, scene.viewer() as quick:
        await slow.told(terminal.WELCOME)
        await quick.told(terminal.WELCOME)
        quick.type("seq 1 3000000; echo al''l\n")
        await quick.until(b"all\r\n")
        assert len(scene.terminals.sessions["main"].viewers) == 1


async def test_what_does_not_keep_to_the_protocol_ends_its_connection_alone(scene: Scene) -> None:
    async with scene.viewer() as seen:
        await seen.told(terminal.WELCOME)
        async with scene.viewer() as wrong:
            await wrong.told(terminal.WELCOME)
            wrong.writer.write(frame(b"?", b""))
            await wrong.told(terminal.REFUSED)
        async with scene.viewer() as wrong:
            await wrong.told(terminal.WELCOME)
            wrong.writer.write(b"i\xff\xff\xff\xff")
            await wrong.told(terminal.REFUSED)
        seen.type("echo fi''ne\n")
        await seen.until(b"fine")


@given(
    st.lists(st.tuples(st.sampled_from([terminal.INPUT, terminal.OUTPUT]), st.binary(max_size=300)), max_size=10),
    st.integers(1, 50),
)
def test_frames_arrive_whole_however_their_bytes_come(sent: list[tuple[bytes, bytes]], step: int) -> None:
    data = b"".join(frame(kind, content) for kind, content in sent)
    frames = Frames()
    found: list[tuple[bytes, bytes]] = []
    for start in range(0, len(data), step):
        found += frames.feed(data[start : start + step])
    assert found == sent


def test_a_document_is_an_object() -> None:
    for wrong in (b"", b"[]", b"1", b"\xff"):
        with pytest.raises(Malformed):
            read_document(wrong)
