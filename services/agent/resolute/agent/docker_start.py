"""Starts a task's container: its image, the volume with the harness, its network, and the container itself.

When the daemon goes away in the middle, all steps are repeated from the beginning: the task does not run before the
last step, which starts the container.
"""

from __future__ import annotations

import errno
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from resolute.agent import docker_config, docker_files_volume, spool
from resolute.agent.container_spec import HOST, LABEL, Container
from resolute.agent.docker_engine import CONFLICT, Away, Engine, Refusal, State
from resolute.agent.docker_messages import Progress, StartProblem, port_in_use, pull_problem, start_problem
from resolute.agent.runtime import CannotStart, Launch

T = TypeVar("T")

LOOK_UP_S = 0.2
PAUSE_S = 0.5
"""Between tries to reach a daemon that is away."""


@dataclass
class Start:
    """One try at starting a task; another thread may set `give_up` at any time to cancel it."""

    engine: Engine
    name: str
    launch: Launch
    container: Container
    grace_s: float
    notes: Path
    """The file for lines of the agent in the task's log."""
    give_up: threading.Event = field(default_factory=threading.Event)

    _sent: bool = field(default=False, init=False)
    """Whether the daemon was asked to start the container: the container may then run, even if the answer was lost."""
    _lost: bool = field(default=False, init=False)
    """Whether an answer of the daemon was lost: it may have done what was asked, or may still do it."""

    def run(self) -> None:
        """Returns when the container runs. Raises CannotStart."""
        _check(self.launch)
        while True:
            self._may_go_on()
            try:
                return self._run()
            except Away as away:
                if not self._lost:
                    self._note(f"WARNING: the Docker daemon does not answer, and is waited for: {away}")
                self._lost = True
                self._pause()
            except Refusal as refusal:
                raise _cannot(start_problem(self.container, refusal.words)) from refusal

    def _run(self) -> None:
        state = self.engine.state(self.name)
        if state is not None and not state.is_of(self.container.labels):
            raise CannotStart(f"a container named {self.name} exists already, and was not made for this task")
        if self._sent:
            return self._ensure_begun(state)
        if state is not None and state.begun:
            raise CannotStart(f"{self.name} was started before")
        if state is not None:
            self.engine.remove(self.name)
        self._check_ports()
        image = self._image()
        volume = docker_files_volume.filled(self.engine, self.container, self._may_go_on)
        self._network()
        self._may_go_on()
        self._create(docker_config.config(self.launch, self.container, image, volume, self.grace_s))
        user, trusted = self.container.user, self.container.trusted
        folder = docker_config.run_directory(user, trusted, image.get("User") or "", self.launch.files)
        try:
            self.engine.put(self.name, "/", folder)
        except Refusal:
            self.engine.remove(self.name)
            raise
        self._begin()

    def _create(self, config: Mapping[str, Any]) -> None:
        try:
            self.engine.create(self.name, config)
        except Refusal as refusal:
            if refusal.status == CONFLICT and self._lost:  # an earlier request made it, whose answer was lost
                raise Away(refusal.words) from refusal
            raise

    def _begin(self) -> None:
        self._sent = True
        try:
            self.engine.start(self.name)
        except Refusal:
            self.engine.remove(self.name)
            raise

    def _ensure_begun(self, state: State | None) -> None:
        """A task runs at most once: where the container is gone no second one is made, and one that runs is
        accepted."""
        if state is None:
            raise CannotStart("its container was removed as it was about to start")
        if not state.begun:
            self._begin()

    def _may_go_on(self) -> None:
        """Raises CannotStart where the start was cancelled. A container that may already have started is not abandoned
        here: it is stopped as soon as its start is confirmed."""
        if self.give_up.is_set() and not self._sent:
            raise CannotStart("it was stopped before it could start")

    def _pause(self) -> None:
        if self._sent:
            time.sleep(PAUSE_S)
        else:
            self.give_up.wait(PAUSE_S)

    def _note(self, text: str) -> None:
        spool.note(self.notes, [text])

    def _check_ports(self) -> None:
        """On the host's network a task uses the host's ports, and the daemon does not check whether they are free."""
        for port in self.container.ports if self.container.network == HOST else ():
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("", port))
                except OSError as error:
                    if error.errno == errno.EADDRINUSE:
                        raise _cannot(port_in_use(str(port))) from error

    # ------------------------------------------------------------ the image

    def _image(self) -> Mapping[str, Any]:
        name = self.container.image
        try:
            image = self.engine.image(name)
        except Refusal as refusal:
            if refusal.status != 400:
                raise
            raise _cannot(pull_problem(name, refusal.words)) from refusal  # the name is not valid
        if image is not None and not self.container.pull:
            return image
        self._pull(name)
        image = self.engine.image(name)
        if image is None:
            raise CannotStart(f"environment.image: {name} was pulled, and is not there")
        return image

    def _pull(self, name: str) -> None:
        self._note(f"INFO: pulling {name}")
        progress = Progress(name)
        try:
            for word in read_aside(self.engine.pull(name, self.container.login), self._may_go_on):
                for line in progress.lines(word, time.monotonic()):
                    self._note(line)
        except Refusal as refusal:
            raise _cannot(pull_problem(name, refusal.words)) from refusal

    # ------------------------------------------------------------ the network

    def _network(self) -> None:
        if self.container.own_network:
            cluster = f"{LABEL}cluster"
            self.engine.make_network(self.container.network, {cluster: self.container.labels[cluster]}, uplink_mtu())


def read_aside(words: Iterable[T], look_up: Callable[[], None]) -> Iterator[T]:
    """Yields `words`, which another thread reads; meanwhile `look_up` is called now and then, and may raise.

    After that the thread goes on reading: the daemon finishes the pull, and has the image for the next task.
    """
    read: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def follow() -> None:
        try:
            for word in words:
                read.put((word, None))
            read.put((None, StopIteration()))
        except Exception as error:  # noqa: BLE001  (raised again where it is waited for)
            read.put((None, error))

    threading.Thread(target=follow, daemon=True).start()
    while True:
        look_up()
        try:
            word, end = read.get(timeout=LOOK_UP_S)
        except queue.Empty:
            continue
        if isinstance(end, StopIteration):
            return
        if end is not None:
            raise end
        assert word is not None, "what is read is something"
        yield word


def _check(launch: Launch) -> None:
    for name, value in launch.environment.items():
        if not name or "=" in name or "\0" in name + value:
            raise CannotStart(f"cannot start {launch.command[0]}: no process can have the variable {name!r}", True)


def _cannot(found: StartProblem) -> CannotStart:
    return CannotStart(found.words, found.hopeless)


def uplink_mtu() -> int | None:
    """The MTU of the host's default route: connections of a network with a larger one stall without an error."""
    try:
        routes = Path("/proc/net/route").read_text().splitlines()[1:]
        uplink = next(words[0] for words in map(str.split, routes) if words[1] == "00000000")
        return int(Path(f"/sys/class/net/{uplink}/mtu").read_text())
    except (OSError, StopIteration, ValueError, IndexError):
        return None
