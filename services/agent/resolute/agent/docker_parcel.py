"""How what is ours comes to the containers of a host: as a volume, filled once and never changed.

A container that is never started fills it, so that the daemon may be on a host whose files this agent does not see.
All may be done again after a daemon that went away: only a volume with everything in it has the sign that it is full.
"""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Callable
from typing import Any

from resolute.agent import docker_config
from resolute.agent.containers import LABEL, PARCEL_DIR, Container, Mount
from resolute.agent.docker_engine import CONFLICT, Engine, Refusal
from resolute.agent.parcel import Parcel, parcel

FILLED = ".filled"
FILL_S = 60.0
"""How long another agent may take to fill it; mostly it is a second."""
LOOK_AGAIN_S = 0.2


def filled(engine: Engine, container: Container, may_go_on: Callable[[], None]) -> str:
    """The volume with the harness and the shim, full. `container` is who needs it, `may_go_on` raises to stop.

    Where many need it at once one fills it: a file is not to be written while another runs it.
    """
    ours = parcel()
    volume = f"resolute-harness-{ours.digest}"
    with engine.filling:
        made = engine.make_volume(volume, {f"{LABEL}harness": ours.digest})
        if made not in engine.filled:
            _fill(engine, container, volume, ours, may_go_on)
            engine.filled.add(made)
    return volume


def _fill(engine: Engine, container: Container, volume: str, ours: Parcel, may_go_on: Callable[[], None]) -> None:
    filler = f"{volume}-filler"
    mount = docker_config.mount(Mount(volume, PARCEL_DIR, volume=True))
    config = {
        "Image": container.image,
        "Entrypoint": ["true"],
        "Labels": {**container.labels, f"{LABEL}harness": ours.digest},
        "HostConfig": {"Mounts": [mount], "NetworkMode": "none"},
    }
    until = time.monotonic() + FILL_S
    while not _create(engine, filler, config):
        state = engine.state(filler)
        # It is our turn among this agent's tasks, so one of its own was left over by who died. Others may have, too.
        if state is not None and (state.is_of(_agent(container)) or time.monotonic() > until):
            engine.remove(filler)
        may_go_on()
        time.sleep(LOOK_AGAIN_S)
    try:
        if not engine.has(filler, f"{PARCEL_DIR}/{FILLED}"):
            engine.put(filler, PARCEL_DIR, ours.archive)
            engine.put(filler, PARCEL_DIR, _sign())
    finally:
        engine.remove(filler)


def _create(engine: Engine, filler: str, config: dict[str, Any]) -> bool:
    """False where another agent of this engine fills: there is one container of that name."""
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
