"""The calls of the Docker daemon that an agent needs. They block, and raise two exceptions.

Away: the daemon does not answer; the same call may be made again later. Refusal: the daemon refuses, with a message.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import docker
import requests
import urllib3
from docker.errors import APIError, DockerException

TIMEOUT_S = 60
CONFLICT = 409
"""The status of the answer to a `create` whose name is taken."""


class Away(Exception):
    """The daemon does not answer."""


class Refusal(Exception):
    """A refusal of the daemon. `words`: its message; `status`: the HTTP status."""

    def __init__(self, words: str, status: int) -> None:
        super().__init__(words)
        self.words, self.status = words, status


@dataclass(frozen=True, slots=True)
class State:
    """The state of a container."""

    status: str
    """created, running, paused, restarting, removing, exited or dead."""
    exit_code: int
    out_of_memory: bool
    """Whether the kernel killed a process in the container because memory ran out."""
    memory_bytes: int
    """The container's limit; 0 for none."""
    addresses: Mapping[str, str]
    """The container's addresses, by network."""
    labels: Mapping[str, str]
    id: str = ""
    """The container's id. An id is never used again, but a name may be."""
    begun: bool = True
    """Whether the container was ever started."""

    def is_of(self, owner: Mapping[str, str]) -> bool:
        return owner.items() <= self.labels.items()

    @property
    def ended(self) -> bool:
        return self.status in ("exited", "dead", "removing")


class Engine:
    """The client of the daemon, shared by all threads. It connects at the first call: the daemon may start later than
    the agent. Methods raise Away and Refusal."""

    def __init__(self, logins: str | None = None) -> None:
        self._logins = logins
        self._lock = threading.Lock()
        self._made: docker.APIClient | None = None
        self.filling = threading.Lock()
        """Held by the thread that fills a volume."""
        self.filled: set[tuple[str, str]] = set()
        """Volumes that have all their files, as `make_volume` identifies them."""

    @property
    def client(self) -> docker.APIClient:
        with self._lock:
            if self._made is None:
                try:
                    made = docker.from_env(version="auto", timeout=TIMEOUT_S).api
                    if self._logins:
                        made.reload_config(self._logins)
                except (DockerException, *_AWAY) as error:  # it asks for the daemon's version
                    raise Away(str(error)) from error
                self._made = made
            return self._made

    def state(self, name: str) -> State | None:
        """None where there is no such container."""
        try:
            with _said():
                return _state(self.client.inspect_container(name))
        except Refusal as refusal:
            if refusal.status == 404:
                return None
            raise Away(refusal.words) from refusal  # an error of the daemon itself, which a later call may not meet

    def owned(self, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        """The id and the labels of every container that has `labels`, running or not."""
        with _said():
            wanted = [f"{key}={value}" for key, value in labels.items()]
            found = self.client.containers(all=True, filters={"label": wanted})
        return [(one["Id"], one["Labels"]) for one in found]

    def create(self, name: str, config: Mapping[str, Any]) -> None:
        """`config`: the body of the engine's API. Raises Refusal, with status CONFLICT when the name is taken."""
        with _said():
            self.client.create_container_from_config(dict(config), name)  # type: ignore[no-untyped-call]

    def start(self, name: str) -> None:
        with _said():
            self.client.start(name)

    def put(self, name: str, folder: str, archive: bytes) -> None:
        with _said():
            self.client.put_archive(name, folder, archive)

    def has(self, name: str, path: str) -> bool:
        """Whether the container, running or not, has a file there."""
        try:
            with _said():
                stream, _ = self.client.get_archive(name, path)
                for _ in stream:
                    continue  # read to the end, so that the connection can be reused
        except Refusal as refusal:
            if refusal.status == 404:
                return False
            raise
        return True

    def kill(self, name: str, signal: str) -> None:
        """Send a signal. Has no effect when the container is not there or does not run."""
        try:
            with _said():
                self.client.kill(name, signal)
        except Refusal as refusal:
            if refusal.status not in (404, 409):
                raise Away(refusal.words) from refusal

    def remove(self, name: str) -> None:
        """Remove the container, and kill what runs in it. Has no effect when it is not there."""
        try:
            with _said():
                self.client.remove_container(name, force=True, v=True)
        except Refusal as refusal:
            if refusal.status not in (404, 409):  # 409: it is being removed
                raise

    def output(self, name: str, follow: bool) -> Iterator[bytes]:
        """The container's stdout from its beginning; with `follow`, until the container ends."""
        with _said():
            stream = self.client.logs(name, stdout=True, stderr=False, stream=True, follow=follow)
            try:
                yield from stream
            finally:
                stream.close()

    def complaints(self, name: str) -> list[str]:
        """The last lines of the container's stderr."""
        with _said():
            return self.client.logs(name, stdout=False, stderr=True, tail=20).decode(errors="replace").splitlines()

    # ------------------------------------------------------------ images, networks, volumes

    def image(self, name: str) -> Mapping[str, Any] | None:
        """The configuration of an image; None when the image is not on this host."""
        try:
            with _said():
                found: Mapping[str, Any] = self.client.inspect_image(name)["Config"] or {}  # type: ignore[no-untyped-call]
                return found
        except Refusal as refusal:
            if refusal.status == 404:
                return None
            raise

    def pull(self, name: str, login: Mapping[str, str] | None) -> Iterator[Mapping[str, Any]]:
        """The daemon's messages during the pull. Raises Refusal when it refuses."""
        with _said():
            words = self.client.pull(name, stream=True, decode=True, auth_config=dict(login) if login else None)
            for word in words:
                if "error" in word:
                    raise Refusal(str(word["error"]), 404)
                yield word

    def make_network(self, name: str, labels: Mapping[str, str], mtu: int | None) -> None:
        """Create a network, unless it exists."""
        with _said():
            if any(network["Name"] == name for network in self.client.networks(names=[name])):
                return
        options = {"com.docker.network.driver.mtu": str(mtu)} if mtu else {}
        try:
            with _said():
                self.client.create_network(name, "bridge", options, check_duplicate=True, labels=dict(labels))
        except Refusal as refusal:
            if refusal.status != 409:  # 409: another agent has created it meanwhile
                raise

    def make_volume(self, name: str, labels: Mapping[str, str]) -> tuple[str, str]:
        """Create a volume, unless it exists. Returns its name and the time of its creation: a volume that was removed
        and created again is another one, and empty."""
        with _said():
            made = self.client.create_volume(name, labels=dict(labels))
        return name, str(made["CreatedAt"])


_AWAY = (requests.RequestException, urllib3.exceptions.HTTPError, OSError)


@contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except APIError as error:
        raise Refusal(str(error.explanation or error), error.status_code or 500) from error
    except DockerException as error:  # the client library rejects the arguments
        raise Refusal(str(error), 400) from error
    except _AWAY as error:
        raise Away(str(error)) from error


def _state(found: Mapping[str, Any]) -> State:
    state, networks = found["State"], found["NetworkSettings"]["Networks"] or {}
    return State(
        status=state["Status"],
        exit_code=state["ExitCode"],
        out_of_memory=state["OOMKilled"],
        memory_bytes=found["HostConfig"]["Memory"] or 0,
        addresses={name: network["IPAddress"] for name, network in networks.items() if network["IPAddress"]},
        labels=found["Config"]["Labels"] or {},
        id=found["Id"],
        begun=not state["StartedAt"].startswith("0001-"),  # a status of "removing" would not say
    )
