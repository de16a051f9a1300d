"""Reports to the cluster that a trial fails and would fail again, so that it is not started again."""

from __future__ import annotations

import sys

from determined._info import ClusterInfo
from determined.common.api import Session
from determined.common.api._retry import ONCE
from determined.common.api.errors import BadRequestException, BadResponseException

MISCONFIGURED = "EXITED_REASON_MISCONFIGURED"


def report(info: ClusterInfo) -> None:
    """Send the report; every rank may send it, also several times. The reason itself belongs into the log. Raises
    nothing: when the report cannot be sent, a warning is printed."""
    if info.task_type != "TRIAL":
        return
    session = Session(
        info.master_url, info.session_token, cert_file=info.master_cert_file, cert_name=info.master_cert_name
    )
    try:
        path = f"/api/v1/trials/{info.trial.trial_id}/early_exit"
        session.post(path, {"reason": MISCONFIGURED}, retry=ONCE)
    except (BadRequestException, BadResponseException) as problem:
        print(
            f"WARNING: the cluster was not informed that this trial would fail again: {problem}",
            file=sys.stderr,
            flush=True,
        )
    finally:
        session.close()
