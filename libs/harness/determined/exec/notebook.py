"""The program of a notebook: JupyterLab of the image or of this Python, served below `/proxy/<task>/`.

JupyterLab asks for a token of its own besides what the gateway asks for, since others on this host can reach its port.
The gateway knows the token, and tells it to the notebook's owner.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from determined import _info, constants
from determined.common.api import Session, errors
from determined.common.api._session import segment
from determined.exec import _idle, until_ready

READY = r".*Jupyter Server .* is running"
PORT = "NOTEBOOK_PORT"
IN_CONTAINER = str(constants.DEFAULT_RUN_DIR)
"""Where the files of a task are in containers. Those of processes are in a folder of their agent."""

MISSING = (
    "a notebook needs JupyterLab, which is not installed here: use an image that has it (environment.image), or, where "
    "tasks run as processes, install it for the Python of the agent: pip install jupyterlab"
)


class CannotServe(Exception):
    """The notebook cannot start; the message says why."""


def command(environment: Mapping[str, str], task_id: str) -> list[str]:
    """The words that start JupyterLab. Raises CannotServe."""
    port = environment.get(PORT, "")
    if not port.isdecimal():
        raise CannotServe(f"{PORT} is {port!r}: an agent of an earlier release gives no port to notebooks; upgrade it")
    reachable = "0.0.0.0" if environment.get("DET_RUN_DIR", IN_CONTAINER) == IN_CONTAINER else "127.0.0.1"
    return [
        *_program(environment),
        "--no-browser",
        "--allow-root",
        f"--ServerApp.ip={reachable}",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",  # the gateway asks for this port and for no other
        f"--ServerApp.base_url=/proxy/{task_id}/",
        "--ServerApp.root_dir=/",
        f"--ServerApp.preferred_dir={os.getcwd()}",
        "--ServerApp.allow_remote_access=True",  # the host that browsers name is the gateway
        "--ServerApp.trust_xheaders=True",
    ]


def _program(environment: Mapping[str, str]) -> list[str]:
    if lab := shutil.which("jupyter-lab", path=environment.get("PATH")):
        return [lab]
    if importlib.util.find_spec("jupyterlab") is not None:
        return [sys.executable, "-m", "jupyterlab"]
    raise CannotServe(MISSING)


def token_of(info: _info.ClusterInfo) -> str:
    """What JupyterLab is to ask for. Raises CannotServe."""
    session = Session(
        info.master_url, info.session_token, cert_file=info.master_cert_file, cert_name=info.master_cert_name
    )
    try:
        shown = session.get(f"/api/v1/notebooks/{segment(info.task_id)}")["notebook"]
    except errors.BadRequestException as problem:
        raise CannotServe(f"the master refused or did not answer: {problem}") from problem
    finally:
        session.close()
    found = parse_qs(urlsplit(shown["serviceAddress"]).query).get("token")
    if not found:
        raise CannotServe("the master told no token for this notebook")
    return str(found[0])


def main() -> int:
    info = _info.read_cluster_info(os.environ)
    if info is None:
        print("ERROR: this is the start of a notebook of a cluster, and DET_MASTER is not set", file=sys.stderr)
        return 1
    try:
        words = command(os.environ, info.task_id)
        os.environ["JUPYTER_TOKEN"] = token_of(info)  # not an argument: those are seen by everybody on the host
    except CannotServe as reason:
        print(f"ERROR: {reason}", file=sys.stderr, flush=True)
        return 127

    def ready() -> None:
        until_ready.report(info)
        wanted = _info.task_config_from_env(os.environ)
        if wanted.get("idle_timeout"):
            _idle.report_for_ever(info, os.environ[PORT], wanted.get("notebook_idle_type") or _idle.TYPES[0])

    return until_ready.run(words, READY, ready)


if __name__ == "__main__":
    sys.exit(main())
