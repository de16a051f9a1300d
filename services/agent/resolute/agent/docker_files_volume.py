"""The volume that brings the harness and the shim to the containers of a host: filled once, and never changed.

The files are copied into the volume by way of a container that is never started, so that the daemon may be on a host
whose file system this agent does not share. Every step may be repeated after the daemon was away: only a volume with
all files in it has the file FILLED.
"""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Callable
from typing import Any

from resolute.agent import docker_config
from resolute.agent.container_files import ContainerFiles, container_files
from resolute.agent.container_spec import FILES_DIR, LABEL, Container, Mount
from resolute.agent.docker_engine import CONFLICT, Engine, Refusal

FILLED = ".filled"
FILL_S = 60.0
"""How long another agent may take to fill the volume; usually it takes a second."""
LOOK_AGAIN_S = 0.2


def filled(engine: Engine, container: Container, may_go_on: Callable[[], None]) -> str:
    """The name of the filled volume. `container` is the one that needs the volume; `may_go_on` raises to stop.

    Where several tasks need the volume at once, one fills it: a file must not be written while a task runs it.
    """
    files = container_files()
    volume = f"resolute-harness-{files.digest}"
    with engine.filling:
        made = engine.make_volume(volume, {f"{LABEL}harness": files.digest})
        if made not in engine.filled:
            _fill(engine, container, volume, files, may_go_on)
            engine.filled.add(made)
    return volume


def _fill(
    engine: Engine, container: Container, volume: str, files: ContainerFiles, may_go_on: Callable[[], None]
) -> None:
    filler = f"{volume}-filler"
    mount = docker_config.mount(Mount(volume, FILES_DIR, volume=True))
    config = {
        "Image": container.image,
        "Entrypoint": ["true"],
        "Labels": {**container.labels, f"{LABEL}harness": files.digest},
        "HostConfig": {"Mounts": [mount], "NetworkMode": "none"},
    }
    until = time.monotonic() + FILL_S
    while not _create(engine, filler, config):
        state = engine.state(filler)
        # This thread holds `engine.filling`, so a container with this agent's labels was left by an agent that died.
        # One of another agent is removed when that agent had time enough to fill the volume.
        if state is not None and (state.is_of(_agent(container)) or time.monotonic() > until):
            engine.remove(filler)
        may_go_on()
        time.sleep(LOOK_AGAIN_S)
    try:
        if not engine.has(filler, f"{FILES_DIR}/{FILLED}"):
            engine.put(filler, FILES_DIR, files.archive)
            engine.put(filler, FILES_DIR, _sign())
    finally:
        engine.remove(filler)


def _create(engine: Engine, filler: str, config: dict[str, Any]) -> bool:
    """Returns False when a container of that name exists: another agent of this engine fills the volume."""
    try:
        engine.create(filler, config)
    except Refusal as refusal:
        if refusal.status != CONFLICT:
            raise
        return False
    return True


def _agent(container: Container) -> dict[str, str]:
    return {key: container.labels[key] for key in (f"{LABEL}cluster", f"{LABEL}agent")}


def _sign() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(FILLED))
    return packed.getvalue()
