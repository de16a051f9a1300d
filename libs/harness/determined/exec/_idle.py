"""Says of a notebook, every half minute, whether anything is at work in it: asked of JupyterLab's own REST API."""

from __future__ import annotations

import contextlib
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from determined import _info, util
from determined.common.api import Session, errors
from determined.common.api._retry import ONCE
from determined.common.api._session import segment

TYPES = ("kernels_or_terminals", "kernel_connections", "activity")
"""What counts as work: that there is a kernel, a terminal or a session; a kernel with a connection; a kernel that is
busy, or a kernel or terminal that did something since the last look."""

EVERY_S = 30.0
ANSWER_S = 10.0


@dataclass(frozen=True)
class Look:
    """What JupyterLab says that there is, as its REST API has it."""

    kernels: Sequence[Mapping[str, Any]]
    terminals: Sequence[Mapping[str, Any]]
    sessions: Sequence[Mapping[str, Any]]

    @property
    def last_activity(self) -> str:
        """The newest instant of any kernel or terminal (ISO 8601, which sorts as text); empty where there is none."""
        return max((str(one.get("last_activity") or "") for one in (*self.kernels, *self.terminals)), default="")


def is_idle(idle_type: str, look: Look, before: str) -> bool:
    """`before`: the `last_activity` of the look before."""
    if idle_type == "kernel_connections":
        return not any(kernel.get("connections") for kernel in look.kernels)
    if idle_type == "activity":
        busy = any(kernel.get("execution_state") == "busy" for kernel in look.kernels)
        return not busy and look.last_activity <= before
    return not (look.kernels or look.terminals or look.sessions)


def report_for_ever(info: _info.ClusterInfo, port: str, idle_type: str) -> None:
    """Where JupyterLab does not answer, the notebook counts as at work: it is not ended for what is not known."""
    session = Session(
        info.master_url, info.session_token, cert_file=info.master_cert_file, cert_name=info.master_cert_name
    )
    base = f"http://127.0.0.1:{port}/proxy/{info.task_id}"
    path = f"/api/v1/notebooks/{segment(info.task_id)}/report_idle"
    before = ""
    while True:
        try:
            look = look_at(base)
            idle, before = is_idle(idle_type, look, before), look.last_activity
        except (OSError, ValueError):
            idle = False
        body = util.json_bytes({"notebookId": info.task_id, "idle": idle})
        with contextlib.suppress(errors.BadRequestException, errors.BadResponseException):  # the next one says it again
            session.request("PUT", path, body, retry=ONCE)
        time.sleep(EVERY_S)


def look_at(base: str) -> Look:
    """Raises OSError and ValueError."""
    return Look(*(_listed(f"{base}/api/{what}") for what in ("kernels", "terminals", "sessions")))


def _listed(url: str) -> Sequence[Mapping[str, Any]]:
    asked = urllib.request.Request(url, headers={"Authorization": f"token {os.environ.get('JUPYTER_TOKEN', '')}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(asked, timeout=ANSWER_S) as answer:
            found = json.load(answer)
    except urllib.error.HTTPError as problem:
        if problem.code == 404:  # terminals may be switched off
            return ()
        raise
    if not isinstance(found, list):
        raise ValueError(f"{url}: expected a list")
    return found
