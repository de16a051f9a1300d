"""What operations of a running trial share: the number of its run, and who may change the trial."""

from __future__ import annotations

import re

from resolute.api.routing import OWNERS, TASK

OWN_TRIAL = TASK.to("experiment.edit").about("trial", "trialId")
"""The task of the trial that the path names."""

REPORTED_TRIAL = (TASK | OWNERS).to("experiment.edit").about("trial", "trialId")
"""The same, and users for trials that run outside of the cluster: handlers check that (`check_reporter`)."""


def run_of(allocation_id: str) -> int:
    """The run's number: the last part of `<task id>.<run>`; 0 where there is none, as for a trial outside of the
    cluster."""
    found = _RUN.search(allocation_id)
    return int(found[1]) if found else 0


_RUN = re.compile(r"\.([0-9]{1,9})$", re.ASCII)
