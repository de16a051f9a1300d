"""`python -m determined.cli.tunnel MASTER SERVICE`: a TCP port of a task, on standard input and output, or here.

ssh starts it as its ProxyCommand. It signs in as `det` does, and needs the standard library alone.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlsplit

from determined.common.client import address
from determined.common.client.claims import claim
from determined.common.client.password import on_the_wire
from determined.common.client.problems import ClientError
from determined.common.client.tokens import TokenStore
from determined.common.client.trust import NamedHTTPSConnection, Trust
from determined.common.client.websocket import NotOpened, WebSocket

READ_BYTES = 65_536
CONNECTIONS_MAX = 256
"""Connections at once of a port here; further ones wait."""
LOG_IN_S = 30.0


class Tunnel:
    """The way to one port of a task. `open` may be called from several threads."""

    def __init__(self, master: str, service: str, token: str, trust: Trust | None = None) -> None:
        """`service`: `<task>` or `<task>:<port>`."""
        self._master, self._token, self._trust = master, token, trust
        self._path = f"/proxy/{quote(service, safe=':')}/"

    def open(self) -> WebSocket:
        """Raises ClientError."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            return WebSocket(self._master, self._path, headers, self._trust)
        except NotOpened as error:
            raise NotOpened(error.status, _said(str(error))) from None

    def carry(self, read: Callable[[], bytes], write: Callable[[bytes], object], ended: Callable[[], object]) -> None:
        """Sends what `read` gives until it gives nothing, and writes what comes. Returns when nothing comes any more.
        `ended` is called when the task has closed its side. Raises ClientError."""
        way = self.open()
        threading.Thread(target=_upwards, args=(way, read), daemon=True).start()
        try:
            while (data := way.receive()) is not None:
                write(data)
        except OSError:
            return  # cut off, or the reader has left
        finally:
            way.abort()
            ended()


def _upwards(way: WebSocket, read: Callable[[], bytes]) -> None:
    with suppress(OSError, ValueError):
        while data := read():
            way.send(data)
    way.close()


def listen(tunnel: Tunnel, port: int, ready: Callable[[int], None] = lambda port: None) -> None:
    """Carries each connection to a port of this machine, on loopback only. Returns when interrupted. Raises ClientError
    where the port cannot be used."""
    with listener(port) as listening:
        ready(listening.getsockname()[1])
        serve(tunnel, listening)


def listener(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise ClientError(f"cannot listen on 127.0.0.1:{port}: {error.strerror}; choose another port") from error


def serve(tunnel: Tunnel, listening: socket.socket) -> None:
    room = threading.Semaphore(CONNECTIONS_MAX)
    while True:
        room.acquire()
        try:
            accepted, _ = listening.accept()
        except OSError:
            return  # the listener was closed
        threading.Thread(target=_carry, args=(tunnel, accepted, room), daemon=True).start()


def _carry(tunnel: Tunnel, accepted: socket.socket, room: threading.Semaphore) -> None:
    def ended() -> None:
        with suppress(OSError):
            accepted.shutdown(socket.SHUT_RDWR)

    with accepted:
        try:
            tunnel.carry(lambda: accepted.recv(READ_BYTES), accepted.sendall, ended)
        except ClientError as error:
            print(f"tunnel: {error}", file=sys.stderr)
        finally:
            room.release()


# ---------------------------------------------------------------- the program


def main(arguments: Sequence[str] | None = None) -> int:
    args = _parse(arguments)
    try:
        master = address.canonical(args.master)
        trust = _trust(master, args)
        tunnel = Tunnel(master, args.service, sign_in(master, args.user, trust), trust)
        if args.listener is not None:
            print(f"Listening on 127.0.0.1:{args.listener}", file=sys.stderr)
            listen(tunnel, args.listener)
        else:
            tunnel.carry(lambda: os.read(0, READ_BYTES), _to_output, lambda: None)
    except ClientError as error:
        print(f"tunnel: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _to_output(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m determined.cli.tunnel", description=__doc__.split("\n")[0])
    parser.add_argument("master", help="the address of the master")
    parser.add_argument("service", help="the task, or TASK:PORT")
    parser.add_argument("--listener", type=int, metavar="PORT", help="listen on this port of 127.0.0.1")
    parser.add_argument("--auth", action="store_true", help="sign in, which is always done")
    parser.add_argument("-u", "--user", help="the user to sign in as")
    parser.add_argument("--cert-file", help="the certificate to trust, or noverify")
    parser.add_argument("--cert-name", help="the name to expect in the certificate")
    return parser.parse_args(arguments)


def _trust(master: str, args: argparse.Namespace) -> Trust:
    known = Trust.of(master)
    if args.cert_file == "noverify":
        return Trust(server_name=args.cert_name, verify=False)
    if args.cert_file:
        return Trust(cafile=args.cert_file, server_name=args.cert_name)
    return Trust(known.cafile, known.cadata, args.cert_name or known.server_name, known.verify)


def sign_in(master: str, user: str | None, trust: Trust) -> str:
    """The token that is kept for the user, where the master still takes it; else that of a new session, where the
    password is known. Raises ClientError: nobody can be asked for a password here."""
    claimed = claim(user, TokenStore().at(master))
    if claimed.token and _ask(master, trust, "GET", "/api/v1/me", claimed.token)[0] == 200:
        return claimed.token
    if claimed.password is not None:
        body = {"username": claimed.user, "password": on_the_wire(claimed.password), "isHashed": True}
        status, answer = _ask(master, trust, "POST", "/api/v1/auth/login", "", body)
        if status == 200:
            return str(answer["token"])
    raise ClientError(f"not signed in as {claimed.user}: say `det user login {claimed.user}` first")


def _ask(master: str, trust: Trust, method: str, path: str, token: str, body: Any = None) -> tuple[int, Any]:
    url = urlsplit(master)
    assert url.hostname, "a canonical address names a host"
    connection: http.client.HTTPConnection
    if url.scheme == "https":
        name = trust.server_name or url.hostname
        context = trust.context()
        connection = NamedHTTPSConnection(url.hostname, url.port, LOG_IN_S, context=context, server_name=name)
    else:
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=LOG_IN_S)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request(method, url.path + path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"null")
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ClientError(f"no answer from the master at {master} ({error})") from error
    finally:
        connection.close()


def _said(text: str) -> str:
    """The message in an error of the master."""
    try:
        document = json.loads(text)
        return str(document.get("message") or document["error"]["error"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return text[:500]


if __name__ == "__main__":
    sys.exit(main())
