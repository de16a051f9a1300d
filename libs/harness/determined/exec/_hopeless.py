"""Telling the cluster that a trial fails, and would fail whenever it was started again, so that it is not."""

from __future__ import annotations

import sys

from determined._info import ClusterInfo
from determined.common.api import Session
from determined.common.api._retry import ONCE
from determined.common.api.errors import BadRequestException, BadResponseException

MISCONFIGURED = "EXITED_REASON_MISCONFIGURED"


def tell(info: ClusterInfo) -> None:
    """Once or more often, by one rank or by all. The reason itself belongs in the log."""
    if info.task_type != "TRIAL":
        return
    session = Session(
        info.master_url, info.session_token, cert_file=info.master_cert_file, cert_name=info.master_cert_name
    )
    try:
        path = f"/api/v1/trials/{info.trial.trial_id}/early_exit"
        session.post(path, {"reason": MISCONFIGURED}, retry=ONCE)
    except (BadRequestException, BadResponseException) as problem:
        print(f"WARNING: nobody heard that starting this again is of no use: {problem}", file=sys.stderr, flush=True)
    finally:
        session.close()
